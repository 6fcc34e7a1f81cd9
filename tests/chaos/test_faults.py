"""The catalogue: what can strike where, and what a machine may lack."""

import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.chaos.chronicle import Chronicle
from tests.chaos.faults import CATALOGUE, FORGETFUL, USUAL, Scene, TooLate, clocks
from tests.chaos.faults.doubles import ELSEWHERE, copy_code
from tests.chaos.instances import small_disk
from tests.chaos.instances.small_disk import fill, mounted
from tests.chaos.schedule import Strike
from tests.chaos.system import ROOT


def test_names_are_known() -> None:
    assert set(USUAL) <= set(CATALOGUE)
    assert set(CATALOGUE) >= FORGETFUL
    assert all(name == fault.name for name, fault in CATALOGUE.items())


@pytest.mark.parametrize(
    ("name", "pair", "said"),
    [
        ("kill", "sqlite+filesystem", ""),
        ("crash-all", "sqlite+filesystem", ""),
        ("crash-all", "postgresql+rabbitmq", ""),
        ("broker-wipe", "sqlite+filesystem", ""),
        ("database-crash", "sqlite+redis", "database-crash needs postgresql"),
        ("broker-alarm", "postgresql+redis", "broker-alarm needs rabbitmq"),
        ("broker-stop", "postgresql+redis", ""),
        ("broker-stop", "sqlite+filesystem", "broker-stop needs rabbitmq or redis"),
        ("cut", "sqlite+filesystem", "cut needs postgresql or rabbitmq or redis"),
        ("clock-skew", "sqlite+rabbitmq", "clock-skew needs postgresql"),
    ],
)
def test_a_fault_says_why_it_cannot_strike(name: str, pair: str, said: str) -> None:
    why = CATALOGUE[name].why_not(pair)
    assert why.startswith(said)
    assert bool(why) is bool(said)


def test_a_machine_without_the_library_has_one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "library", str)
    assert "libfaketime" in CATALOGUE["clock-skew"].why_not("postgresql+rabbitmq")


def test_the_copy_knows_another_version_and_differs_in_nothing_else(tmp_path: Path) -> None:
    copy_code(tmp_path)
    different = [
        path.relative_to(tmp_path)
        for path in tmp_path.rglob("*.py")
        if path.read_text() != (ROOT / path.relative_to(tmp_path)).read_text()
    ]
    assert different == [Path("orders/workflows/fulfilment.py")]
    assert ELSEWHERE in (tmp_path / different[0]).read_text()


def test_a_small_disk_is_filled_to_the_last_byte_and_is_gone_afterwards(tmp_path: Path) -> None:
    if why := small_disk.lacks():
        pytest.skip(why)
    with mounted(tmp_path, 2):
        ballast = fill(tmp_path)
        assert shutil.disk_usage(tmp_path).free == 0
        with pytest.raises(OSError, match="No space left"):
            (tmp_path / "more").write_bytes(b"x" * 100_000)
        ballast.unlink()
        (tmp_path / "more").write_bytes(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_a_fault_that_waited_for_its_turn_until_the_end_does_not_strike() -> None:
    scene = Scene(None, Chronicle(), threading.Event())  # type: ignore[arg-type]
    first, again = (Strike(at, "broker-stop", 5.0, "") for at in (1.0, 2.0))
    server = SimpleNamespace(busy=threading.RLock(), name="rabbitmq")
    scene.ending.set()
    # Every fault strikes at least once.
    with scene.hurting(server, first, "stopped"):  # type: ignore[arg-type]
        scene.wait(60)
    with pytest.raises(TooLate), scene.alone_at(server, again):  # type: ignore[arg-type]
        pytest.fail("it struck")
    assert scene.chronicle.strikes() == {"broker-stop": 1}
    assert server.busy.acquire(blocking=False)
