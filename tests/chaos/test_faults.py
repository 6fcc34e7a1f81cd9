"""The catalogue: what can strike where, and what a machine may lack."""

import os
import shutil
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from orders.sandbox.faults import FaultSet
from tests.chaos.chronicle import Chronicle
from tests.chaos.faults import CATALOGUE, FORGETFUL, USUAL, Scene, TooLate, clocks
from tests.chaos.faults.doubles import ELSEWHERE, copy_code
from tests.chaos.faults.services import SERVICES
from tests.chaos.instances import small_disk
from tests.chaos.instances.small_disk import fill, mounted
from tests.chaos.schedule import Strike
from tests.chaos.system import ROOT
from tests.programs import until


def test_names_are_known():
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
        ("purge", "sqlite+filesystem", ""),
        ("clock-skew", "sqlite+rabbitmq", "clock-skew needs postgresql"),
    ],
)
def test_a_fault_says_why_it_cannot_strike(name, pair, said):
    why = CATALOGUE[name].why_not(pair)
    assert why.startswith(said)
    assert bool(why) is bool(said)


def test_a_machine_without_the_library_has_one_clock(monkeypatch):
    monkeypatch.setattr(clocks, "library", str)
    assert "libfaketime" in CATALOGUE["clock-skew"].why_not("postgresql+rabbitmq")


def test_the_copy_knows_another_version_and_differs_in_nothing_else(tmp_path):
    copy_code(tmp_path)
    different = [
        path.relative_to(tmp_path)
        for path in tmp_path.rglob("*.py")
        if path.read_text() != (ROOT / path.relative_to(tmp_path)).read_text()
    ]
    assert different == [Path("orders/workflows/fulfilment.py")]
    assert ELSEWHERE in (tmp_path / different[0]).read_text()


def test_a_small_disk_is_filled_to_the_last_byte_and_is_gone_afterwards(tmp_path):
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


def test_one_child_is_frozen_and_goes_on_later():
    child = subprocess.Popen(["sleep", "60"])
    member = SimpleNamespace(name="agents-1", family=lambda: [os.getpid(), child.pid])
    crew = SimpleNamespace(victims=lambda random, kind: [member])
    system = SimpleNamespace(crew=crew)
    scene = Scene(system, Chronicle(), threading.Event())  # type: ignore[arg-type]
    strike = Strike(1.0, "freeze-child", 60.0, "")
    thread = threading.Thread(target=CATALOGUE["freeze-child"].strike, args=(scene, strike))
    try:
        thread.start()
        until(lambda: _state(child.pid) == "T")
        assert scene.chronicle.strikes() == {"freeze-child": 1}
        scene.ending.set()
        thread.join(10)
        until(lambda: _state(child.pid) != "T")
    finally:
        scene.ending.set()
        child.kill()
        child.wait()


def test_a_child_that_died_while_it_was_frozen_is_nobodys_to_wake():
    child = subprocess.Popen(["true"])
    child.wait()
    member = SimpleNamespace(name="agents-1", family=lambda: [os.getpid(), child.pid])
    crew = SimpleNamespace(victims=lambda random, kind: [member])
    system = SimpleNamespace(crew=crew)
    scene = Scene(system, Chronicle(), threading.Event())  # type: ignore[arg-type]

    CATALOGUE["freeze-child"].strike(scene, Strike(1.0, "freeze-child", 60.0, ""))

    assert scene.chronicle.strikes() == {}


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_purge_takes_what_waits_and_marks_nothing_where_nothing_does(tmp_path):
    backend = SimpleNamespace(broker="filesystem")
    system = SimpleNamespace(backend=backend, messages=tmp_path)
    scene = Scene(system, Chronicle(), threading.Event())  # type: ignore[arg-type]
    scene.ending.set()
    strike = Strike(1.0, "purge", 0.0, "")

    CATALOGUE["purge"].strike(scene, strike)
    assert scene.chronicle.strikes() == {}
    (tmp_path / "one.msg").touch()
    CATALOGUE["purge"].strike(scene, strike)

    assert scene.chronicle.strikes() == {"purge": 1}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("usual", "struck"),
    [
        ({}, {"latency_seconds": 1.0, "hang_rate": 0.1, "seed": 7}),
        ({"latency_seconds": 2.0}, {"latency_seconds": 3.0, "hang_rate": 0.1, "seed": 7}),
    ],
)
def test_a_service_is_healed_to_what_it_usually_is(usual, struck):
    said: list[dict[str, float]] = []
    system = SimpleNamespace(usual=usual, set_faults=lambda service, **faults: said.append(faults))
    scene = Scene(system, Chronicle(), threading.Event())  # type: ignore[arg-type]
    scene.ending.set()

    CATALOGUE["slow"].strike(scene, Strike(1.0, "slow", 60.0, ""))

    assert said == [struck, usual]


def test_a_lie_is_told_by_every_service_and_by_none_afterwards():
    said: list[tuple[str, dict[str, float]]] = []
    system = SimpleNamespace(
        usual={}, set_faults=lambda service, **faults: said.append((service, faults))
    )
    scene = Scene(system, Chronicle(), threading.Event())  # type: ignore[arg-type]
    scene.ending.set()

    CATALOGUE["lie"].strike(scene, Strike(1.0, "lie", 60.0, ""))

    assert [service for service, _ in said] == [*SERVICES, *SERVICES]
    assert all(FaultSet.read(faults).lie_rate for _, faults in said[:4])
    assert [faults for _, faults in said[4:]] == [{}] * 4


def test_a_fault_that_waited_for_its_turn_until_the_end_does_not_strike():
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
