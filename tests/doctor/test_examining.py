"""The doctor never hangs, never fails, and prints no secret."""

import io
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from workers.ops import doctor
from workers.ops.doctor import Finding, Level, Need, Probe, examine, ok, warning
from workers.ops.doctor import run as examination
from workers.ops.doctor.secrets import masked
from workers.ops.management.nouns import doctor as command


def good() -> Iterable[Finding]:
    yield ok("all is well")


def bad() -> Iterable[Finding]:
    yield warning("it leaks", "the floor gets wet", "close the tap")


def failing() -> Iterable[Finding]:
    yield ok("so far")
    raise RuntimeError("amqp://shop:hunter2@mq/shop is gone")


def ending() -> Iterable[Finding]:
    raise SystemExit(3)


def a_probe(look: doctor.registry.Look, needs: Need = Need.NOTHING, group: str = "shop") -> Probe:
    return Probe(group, getattr(look, "__name__", "look"), look, needs)


def test_every_app_s_probes_are_found_and_in_order():
    groups = list(dict.fromkeys(one.group for one in doctor.probes()))

    assert groups == list(doctor.registry.GROUPS)
    assert all(one.look.__doc__ for one in doctor.probes())


def test_a_probe_that_fails_is_told_of_and_the_others_go_on():
    told = list(examine([a_probe(failing), a_probe(ending), a_probe(good)]))

    assert [(one.probe, str(one.finding.level)) for one in told] == [
        ("failing", "error"),
        ("ending", "error"),
        ("good", "ok"),
    ]
    assert "failed: RuntimeError: amqp://shop:***@mq/shop is gone" in told[0].finding.what
    assert "hunter2" not in str(told)


def test_a_probe_that_hangs_is_left_behind(monkeypatch):
    monkeypatch.setattr(examination, "crowding", lambda: 1.0)
    release = threading.Event()

    def hanging() -> Iterable[Finding]:
        release.wait(60)
        return []

    told = list(examine([a_probe(hanging), a_probe(good)], seconds=0.05))
    release.set()

    assert [str(one.finding.level) for one in told] == ["error", "ok"]
    assert "has not ended within 0.05 s" in told[0].finding.what


def test_a_crowded_machine_turns_no_probe_red(monkeypatch):
    monkeypatch.setattr(examination, "crowding", lambda: 20.0)
    release = threading.Event()

    def late() -> Iterable[Finding]:
        # Longer than its usual time, and not than that of a crowded machine.
        release.wait(0.1)
        return [ok("in order")]

    def hanging() -> Iterable[Finding]:
        release.wait(60)
        return []

    told = list(examine([a_probe(late), a_probe(hanging)], seconds=0.05))
    release.set()

    assert [str(one.finding.level) for one in told] == ["ok", "warning"]
    assert "20 processes want each processor" in told[1].finding.what


@pytest.mark.parametrize(
    ("load", "cores", "crowd"), [(0.2, 2, 1.0), (2.0, 2, 1.0), (40.0, 2, 20.0), (3.0, None, 3.0)]
)
def test_how_crowded_a_machine_is(monkeypatch, load, cores, crowd):
    monkeypatch.setattr(examination.os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(examination.os, "cpu_count", lambda: cores)
    assert examination.crowding() == crowd


def test_a_system_that_does_not_know_its_load_is_not_crowded(monkeypatch):
    def unknown() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(examination.os, "getloadavg", unknown)
    assert examination.crowding() == 1.0


def refuse() -> list[Finding]:
    raise ConnectionError


@pytest.mark.parametrize(
    ("missing", "left", "said"),
    [
        ("_touch_database", ["nothing"], "2 probes were left out: the database does not answer"),
        (
            "_touch_tables",
            ["nothing", "database"],
            "1 probe was left out: migrations are not applied",
        ),
    ],
)
def test_probes_without_their_prerequisite_are_left_out_and_counted(
    monkeypatch, missing, left, said
):
    monkeypatch.setattr(examination, "_touch_database", list)
    monkeypatch.setattr(examination, "_touch_tables", list)
    probes = [Probe("shop", need.name.lower(), good, need) for need in Need]
    assert [one.probe for one in examine(probes)] == ["nothing", "database", "tables"]

    monkeypatch.setattr(examination, missing, refuse)
    told = list(examine(probes))

    assert [one.probe for one in told] == [*left, "left_out"]
    assert (told[-1].finding.what, told[-1].finding.level) == (said, Level.ERROR)


@pytest.mark.parametrize(
    "text",
    [
        "amqp://shop:hunter2@mq:5672/shop is away",
        "password=hunter2 was refused",
        "redis://:hunter2@h/0",
        "postgres://shop:other-secret@db/shop",
        "the key of the site is well-guarded-key",
        "hunter/2 as the URL has it: hunter%2F2",
    ],
)
def test_no_secret_gets_through(text):
    urls = "amqp://shop:hunter2@mq:5672/shop;amqp://shop:hunter%2F2@mq2:5672/shop"
    with override_settings(SECRET_KEY="well-guarded-key", CELERY_BROKER_URL=urls):
        shown = masked(text)

    assert "***" in shown
    for secret in ("hunter2", "hunter%2F2", "hunter/2", "other-secret", "well-guarded-key"):
        assert secret not in shown


def test_a_url_without_a_password_stays_readable():
    assert masked("https://acme.example/x?a=b@c") == "https://acme.example/x?a=b@c"


Run = Callable[..., tuple[str, int]]


@pytest.fixture
def run(monkeypatch) -> Run:
    """Run the command with probes of the test; return what it printed, and its exit code."""

    def running(*words: str, looks: Iterable[Any] = (good,), tty: bool = False) -> tuple[str, int]:
        monkeypatch.setattr(command.doctor, "probes", lambda: [a_probe(look) for look in looks])
        out = io.StringIO()
        monkeypatch.setattr(out, "isatty", lambda: tty)
        try:
            call_command("sas", "doctor", *words, stdout=out)
        except SystemExit as end:
            return out.getvalue(), int(str(end.code))
        return out.getvalue(), 0

    return running


def test_each_finding_is_told_with_its_reason_and_remedy(run):
    assert run(looks=[good, bad]) == (
        "shop\n"
        "  ok      all is well\n"
        "  warning it leaks\n"
        "          why: the floor gets wet\n"
        "          do: close the tap\n"
        "0 errors, 1 warning.\n",
        0,
    )


@pytest.mark.parametrize(
    ("looks", "words", "code"),
    [
        ([good], (), 0),
        ([good], ("--fail-level", "warning"), 0),
        ([bad], (), 0),
        ([bad], ("--fail-level", "warning"), 1),
        ([failing], (), 1),
        ([failing], ("--fail-level", "warning"), 1),
        ([failing], ("--json",), 1),
    ],
)
def test_the_exit_code_says_how_bad_it_is(run, looks, words, code):
    assert run(*words, looks=looks)[1] == code


def test_json_is_one_object(run):
    text, _ = run("--json", looks=[good, bad])

    assert json.loads(text) == {
        "worst": "warning",
        "errors": 0,
        "warnings": 1,
        "findings": [
            {
                "group": "shop",
                "probe": "good",
                "level": "ok",
                "what": "all is well",
                "why": "",
                "remedy": "",
            },
            {
                "group": "shop",
                "probe": "bad",
                "level": "warning",
                "what": "it leaks",
                "why": "the floor gets wet",
                "remedy": "close the tap",
            },
        ],
    }


def test_quiet_leaves_out_what_is_well(run):
    text, _ = run("--quiet", looks=[good, bad])

    assert "all is well" not in text
    assert "it leaks" in text


def test_colours_are_for_terminals_that_want_them(run, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[33mwarning\x1b[0m" in run(looks=[bad], tty=True)[0]
    assert "\x1b" not in run(looks=[bad])[0]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(looks=[bad], tty=True)[0]


def test_doctor_refuses_unknown_group_and_lists_known_groups(run):
    with pytest.raises(CommandError, match=r"no group 'database'\. Groups: shop"):
        run("--only", "database")


def test_system_checks_are_told_of_and_do_not_end_it():
    assert command.Command.requires_system_checks == ()
