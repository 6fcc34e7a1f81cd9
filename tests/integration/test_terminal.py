"""Every command of ours prints through the one place that makes others' text visible."""

import sys
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands

from tests.admin.conftest import order_in_error
from tests.factories import SinkFactory
from tests.programs import said
from workers.management.commands import sas
from workers.management.terminal import TerminalCommand
from workers.models import Process

FORGED = "\x1b[2J\x9b1m\u202ered\n  forged_step          processed"
STEERING = "\x1b\x9b\u202e"


def test_every_command_prints_through_it():
    apps = ("orders", "workers", "workers.ops", "workers.desk")
    ours = {name: app for name, app in get_commands().items() if app in apps}
    modules = [f"{app}.management.commands.{name}" for name, app in ours.items()]
    modules += sas.nouns().values()
    assert len(modules) >= 20
    for name in modules:
        assert issubclass(import_module(name).Command, TerminalCommand), name


class Anything(TerminalCommand):
    stealth_options = ("reason", "dead_letter")

    def handle(self, **options: Any) -> None:
        raise AssertionError("it was performed")


class Said(TerminalCommand):
    def handle(self, **options: Any) -> None:
        self.stdout.write("a\nb\x1b")
        self.stdout.write("c", ending="")
        self.stdout.write("d\n")
        self.stdout.write("word", lambda word: f"<{word}>", ending="")
        self.stderr.write("e\n\tf\x1b\u202e")


@pytest.mark.parametrize(
    ("options", "named"),
    [({"reason": "caf\udce9"}, "--reason"), ({"dead_letter": ["a", "b\udcff"]}, "--dead-letter")],
)
def test_an_option_that_is_no_utf_8_is_refused(options, named):
    with pytest.raises(CommandError, match=f"{named} must be text without NUL"):
        call_command(Anything(), **options)


@pytest.mark.parametrize("is_given", [True, False])
def test_a_write_is_a_line_and_steers_nothing(
    monkeypatch: pytest.MonkeyPatch, is_given: bool
) -> None:
    out, err = StringIO(), StringIO()
    if is_given:
        call_command(Said(), stdout=out, stderr=err)
    else:
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        call_command(Said())
    assert out.getvalue() == "a\\nb\\u001b\ncd\n<word>"
    assert err.getvalue() == "e\n\tf\\u001b\\u202e\n"


def test_a_process_and_its_sinks_forge_nothing():
    process = order_in_error().process
    Process.objects.filter(pk=process.pk).update(subject=FORGED)
    SinkFactory(
        process=process,
        kind="webhook",
        address=FORGED,
        owner=FORGED,
        last=1,
        tries=2,
        problem={"code": "unreached", "params": {"error": FORGED}},
        next_try_at=process.created_at,
    )
    for words, lines in (
        (("sas", "process", "show", process.pk), None),
        (("sas", "process", "show", process.pk, "--json"), 1),
        (("sas", "sinks", "list"), 2),
        (("sas", "sinks", "list", "--json"), 1),
    ):
        printed = said(*words)
        assert "\\u001b[2J\\u009b1m\\u202e" in printed, words
        assert not set(STEERING) & set(printed), words
        assert "\n  forged_step" not in printed, words
        assert lines is None or len(printed.splitlines()) == lines, words
