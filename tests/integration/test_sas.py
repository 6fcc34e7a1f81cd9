"""`manage.py sas NOUN`: one command of the engine's, and every other name is the project's."""

import subprocess

import pytest
from django.core.management import CommandError, call_command, get_commands

from tests import programs
from tests.programs import said
from workers.management.commands import sas


def manage(*words: str) -> "subprocess.CompletedProcess[str]":
    return programs.python("manage.py", *words)


def test_it_is_the_only_command_of_the_engine_and_its_desk():
    theirs = [name for name, app in get_commands().items() if app.partition(".")[0] == "workers"]
    assert theirs == ["sas"]


def test_nouns_come_from_the_engine_and_its_apps():
    assert {"flow", "sinks"} <= set(sas.nouns())
    assert {"doctor", "invariants", "metrics"} <= set(sas.nouns())
    assert {"incidents", "jobs"} <= set(sas.nouns())


def test_the_engine_alone_has_its_own(monkeypatch):
    alone = [app for app in sas.our_apps() if app.name == "workers"]
    monkeypatch.setattr(sas, "our_apps", lambda: alone)

    assert list(sas.nouns()) == [
        *("alive", "erase", "export", "flow", "persons", "process", "prune", "restored"),
        *("schedule", "sinks"),
    ]


def test_a_noun_that_is_unknown_is_refused_with_those_there_are():
    with pytest.raises(
        CommandError, match=r"NOUN must be one of alive, doctor, .*, got 'orders'\."
    ):
        call_command("sas", "orders")


def test_sas_command_passes_arguments_and_stdout_to_noun():
    assert said("sas", "flow", "show", "--json").startswith('{"agents"')


def test_help_names_every_noun():
    done = manage("sas", "--help")
    assert done.returncode == 0
    for noun in sas.nouns():
        assert f"  {noun} " in done.stdout


def test_a_noun_speaks_for_itself_in_a_terminal():
    usage = manage("sas", "flow", "--help")
    wrong = manage("sas", "flow", "hold", "nothing")
    nobody = manage("sas", "orders")

    assert "usage: manage.py sas flow" in usage.stdout
    assert wrong.returncode == 2
    assert "usage: manage.py sas flow hold" in wrong.stderr
    assert nobody.returncode == 1
    assert "NOUN must be one of" in nobody.stderr
