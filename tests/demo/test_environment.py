"""Where a demo runs: its environment, its folder, its broker, the signals that end it."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from sasproject.celery import app
from sasproject.demo import environment, folder, voice
from sasproject.demo.chaos import Chaos
from sasproject.demo.ending import Ending
from sasproject.stack.exceptions import StackError
from sasproject.stack.folder import RunFolder
from workers import checks


def test_the_engine_accepts_every_setting_of_the_demo():
    with override_settings(**environment.SETTINGS):
        assert checks.check_settings(None) == []


def test_what_the_caller_has_set_stays():
    prepared = environment.prepare(
        {"SAS_SWEEP_SECONDS": "9", "DATABASE_URL": "x", "SAS_RUN_DIR": "/else"}, Path("/run")
    )
    assert prepared["SAS_SWEEP_SECONDS"] == "9"
    assert prepared["DATABASE_URL"] == "x"
    assert prepared["SAS_POLL_SECONDS"] == environment.SETTINGS["SAS_POLL_SECONDS"]
    assert prepared["SAS_RUN_DIR"] == "/run/demo"


def test_a_prepared_environment_is_good_for_its_own_process_only():
    prepared = environment.prepare({}, Path("/run"))
    assert environment.is_prepared(prepared)
    assert not environment.is_prepared({})
    assert not environment.is_prepared({environment.MARK: f"{os.getpid() + 1} 1.5"})
    assert environment.began({environment.MARK: "1 1.5"}) == 1.5


def test_demo_refuses_to_run_unless_started_from_command_line():
    with pytest.raises(CommandError, match="command line"):
        call_command("demo", "--headless")


def test_this_process_joins_the_broker_of_the_stack(tmp_path, monkeypatch):
    for name in ("broker_url", "broker_transport_options"):
        monkeypatch.setitem(app.conf, name, app.conf[name])
    environment.use_broker({"BROKER_URL": "redis+socket:///x/broker.sock"}, tmp_path)
    with app.connection_for_write() as connection:
        assert connection.as_uri() == "redis+socket:///x/broker.sock"
    environment.use_broker({}, tmp_path)
    assert (tmp_path / "broker" / "messages").is_dir()


def test_the_folder_is_emptied(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = tmp_path / "demo"
    (run / "logs").mkdir(parents=True)
    for name in ("db.sqlite3", "sandbox.sqlite3", "logs/web.log"):
        (run / name).touch()
    (run / "link").symlink_to(elsewhere)
    folder.empty(run)
    assert [entry.name for entry in run.iterdir()] == [folder.KEPT[0]]
    assert elsewhere.is_dir()


def test_the_folder_of_a_living_demo_is_left_alone(tmp_path):
    (tmp_path / "db.sqlite3").touch()
    living = RunFolder(tmp_path)
    living.claim()
    try:
        with pytest.raises(StackError, match="already running"):
            folder.empty(tmp_path)
        assert (tmp_path / "db.sqlite3").exists()
    finally:
        living.release()
    folder.empty(tmp_path)
    assert not (tmp_path / "db.sqlite3").exists()


class Runner:
    def __init__(self, **pids: list[int]) -> None:
        self.by_role = pids
        self.killed: list[str] = []
        self.stops: list[bool] = []

    def pids(self, role: str) -> list[int]:
        return self.by_role.get(role, [])

    def kill(self, role: str) -> None:
        self.killed.append(role)

    def request_stop(self, *, at_once: bool = False) -> None:
        self.stops.append(at_once)


def test_signals_are_remembered_while_it_runs_and_urge_while_it_stops():
    ending, runner = Ending(), Runner()
    with pytest.raises(SystemExit):
        ending(signal.SIGTERM, None)
    ending = Ending()
    ending.begin_start(runner)  # type: ignore[arg-type]
    ending.begin_run()
    ending(signal.SIGINT, None)
    ending(signal.SIGTERM, None)
    assert (ending.interrupts, ending.is_terminated, runner.stops) == (1, True, [])
    ending.begin_stop()
    ending(signal.SIGINT, None)
    assert runner.stops == [True]


def test_a_signal_while_it_starts_stops_it():
    ending, runner = Ending(), Runner()
    ending.begin_start(runner)  # type: ignore[arg-type]
    ending(signal.SIGTERM, None)
    assert runner.stops == [False]


def test_only_kills_that_hit_count(tmp_path):
    runner: Any = Runner(agents=[1], scheduler=[])
    chaos = Chaos(runner, tmp_path)
    assert [chaos.kill_a_worker(), chaos.kill_a_worker(), chaos.kill_a_worker()] == [
        "agents",
        None,
        "agents",
    ]
    assert (runner.killed, chaos.kills) == (["agents", "agents"], 2)


def test_restarts_are_seen_in_the_stacks_listing(tmp_path):
    runner: Any = Runner()
    chaos = Chaos(runner, tmp_path)
    assert chaos.roles() == {}
    listing = tmp_path / "stack.json"
    for pids in ("[5, 6]", "[5]", "[]", "[7]", "[7, 8]"):
        listing.write_text(f'{{"stack": [1], "agents": {pids}}}')
        assert list(chaos.roles()) == ["agents"]
    assert chaos.restarts == {"agents": 1}


def test_under_a_board_the_voice_only_remembers(capsys):
    speaking = voice.Voice(sys.stderr)
    speaking.say("agents up")
    speaking.is_covered = True
    speaking.tell("kill -9 agents")
    assert capsys.readouterr().err == "stack: agents up\n"
    assert [what for _, what in speaking.messages] == ["agents up", "kill -9 agents"]
