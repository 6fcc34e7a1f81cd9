"""What the runner promises: order, readiness, restarts, a current list, an end without rests."""

import json
import os
import sys
import threading
from dataclasses import replace

import pytest

from sasproject.stack import keeper, processes
from sasproject.stack.console import Console
from sasproject.stack.exceptions import StackError
from sasproject.stack.folder import RunFolder
from tests.programs import until

from .fakes import CARELESS, FAIL, FAMILY, SLEEP, STUBBORN, alive, role


def listed(folder: RunFolder) -> dict[str, list[int]]:
    listing: dict[str, list[int]] = json.loads((folder.path / "stack.json").read_text())
    return listing


def test_it_is_ready_when_every_role_has_said_so(make_runner, folder):
    asked: list[int] = []

    def probe() -> bool:
        asked.append(1)
        return len(asked) >= 3

    runner = make_runner(role("web", probe=probe), role("beat", ready_line=""))
    assert runner.start() is True
    assert len(asked) == 3
    assert listed(folder)["web"] == runner.pids("web")
    assert alive(runner.pids("web")[0])
    assert alive(runner.pids("beat")[0])


def test_nothing_starts_before_a_first_role_is_ready(make_runner):
    seen: list[bool] = []

    def probe() -> bool:
        seen.append(bool(runner.pids("worker")))
        return len(seen) > 5

    runner = make_runner(role("broker", probe=probe, first=True), role("worker"))
    runner.start()
    assert seen == [False] * 6


def test_a_killed_role_comes_back_and_the_list_says_so(make_runner, folder):
    runner = make_runner(role("web"), role("beat"))
    runner.start()
    before, other = runner.pids("web"), runner.pids("beat")
    runner.kill("web")
    until(lambda: runner.pids("web") not in (before, []))
    until(lambda: listed(folder)["web"] == runner.pids("web"), 1.5)
    assert not alive(before[0])
    assert alive(runner.pids("web")[0])
    assert runner.pids("beat") == other


def test_the_list_holds_children_and_the_stack_itself(make_runner, folder):
    runner = make_runner(role("web", FAMILY))
    runner.start()
    until(lambda: len(listed(folder)["web"]) == 2, 2)
    parent, child = listed(folder)["web"]
    assert processes.children(parent) == [child]
    assert listed(folder)["stack"] == [os.getpid()]


def test_a_dead_roles_children_do_not_outlive_it(make_runner):
    runner = make_runner(role("web", CARELESS))
    runner.start()
    until(lambda: len(runner.pids("web")) == 2)
    parent, child = runner.pids("web")
    runner.kill("web")
    until(lambda: runner.pids("web")[:1] not in ([parent], []))
    assert not alive(child)


def test_the_pause_before_a_restart_doubles(make_runner, monkeypatch, tmp_path):
    monkeypatch.setattr(keeper, "FIRST_PAUSE", 0.02)
    with (tmp_path / "console").open("w+") as stream:
        runner = make_runner(role("web", FAIL), console=Console(stream))
        with pytest.raises(StackError):
            runner.start()
        stream.seek(0)
        said = stream.read()
    assert "web ended (exit code 3), starting it again in 0.02 s" in said
    assert "starting it again in 0.04 s" in said


def test_stages_end_in_order(make_runner, tmp_path):
    order = tmp_path / "order"

    def code(name: str) -> str:
        return (
            "import signal, sys, time\n"
            f"def end(*_):\n    open({str(order)!r}, 'a').write('{name} ')\n    sys.exit(0)\n"
            "signal.signal(signal.SIGTERM, end)\nprint('up', flush=True)\ntime.sleep(600)"
        )

    names = ["broker", "scheduler", "web"]
    runner = make_runner(
        *(role(name, code(name), stage=stage) for name, stage in zip(names, (2, 1, 0), strict=True))
    )
    runner.start()
    runner.stop()
    assert order.read_text().split() == ["web", "scheduler", "broker"]


def test_a_clean_end_leaves_neither_process_nor_list(make_runner, folder):
    runner = make_runner(role("web", CARELESS), role("beat"))
    runner.start()
    until(lambda: len(runner.pids("web")) == 2)
    pids = runner.pids("web") + runner.pids("beat")
    runner.stop()
    assert not [pid for pid in pids if alive(pid)]
    assert not (folder.path / "stack.json").exists()
    assert runner.pids("web") == []


@pytest.mark.parametrize("at_once", [False, True])
def test_a_role_that_refuses_to_end_is_killed(make_runner, at_once):
    runner = make_runner(role("web", STUBBORN, grace=60.0 if at_once else 0.2))
    runner.start()
    (pid,) = runner.pids("web")
    runner.stop(at_once=at_once)
    assert not alive(pid)


def test_a_role_that_keeps_dying_ends_the_start(make_runner, monkeypatch):
    monkeypatch.setattr(keeper, "FIRST_PAUSE", 0.05)
    runner = make_runner(role("beat"), role("web", FAIL))
    with pytest.raises(StackError, match=r"(?s)web died 3 times.*no such table: orders"):
        runner.start()
    assert runner.pids("beat") == runner.pids("web") == []


def test_a_role_that_is_never_ready_ends_the_start(make_runner):
    runner = make_runner(role("web", probe=lambda: False), start_timeout=0.5)
    with pytest.raises(StackError, match=r"(?s)web was not ready within 0.5 s.*web.log.*up"):
        runner.start()
    assert runner.pids("web") == []


def test_a_program_that_is_not_there_is_an_error_like_any_other(make_runner, monkeypatch):
    monkeypatch.setattr(keeper, "FIRST_PAUSE", 0.05)
    runner = make_runner(replace(role("web"), argv=("/nowhere/server",)))
    with pytest.raises(StackError, match="No such file"):
        runner.start()


def test_a_process_that_cannot_be_made_is_tried_again(make_runner, monkeypatch, tmp_path):
    monkeypatch.setattr(keeper, "FIRST_PAUSE", 0.3)
    place = tmp_path / "place"
    threading.Timer(0.1, place.mkdir).start()
    assert make_runner(role("web", cwd=place)).start() is True


def test_a_list_that_cannot_be_written_ends_nothing(make_runner, folder, monkeypatch):
    def full(pids: object) -> None:
        raise OSError(28, "No space left on device")

    runner = make_runner(role("web"))
    monkeypatch.setattr(folder, "publish", full)
    assert runner.start() is True
    monkeypatch.undo()
    until((folder.path / "stack.json").exists, 2)


def test_a_stop_during_the_start_is_no_error(make_runner):
    runner = make_runner(role("web", probe=lambda: False))
    threading.Timer(0.3, runner.request_stop).start()
    assert runner.start() is False
    assert runner.pids("web") == []


def test_output_goes_to_the_roles_log(make_runner, folder):
    runner = make_runner(role("web", f"print({sys.maxsize})\n{SLEEP}"))
    runner.start()
    assert (folder.logs / "web.log").read_text().splitlines()[:2] == [str(sys.maxsize), "up"]
