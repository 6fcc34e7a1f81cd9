"""Schedules in the desk and in the terminal: seen masked, steered with a reason, by who may."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

import workers
from tests.admin.conftest import staff
from workers import Schedule
from workers.client import schedules
from workers.models import Journal, Process
from workers.models import Schedule as Row
from workers.store.db import dialect
from workers.supervisor import beat_schedule

LIST = "/admin/workers/schedule/"
BY = {"actor": "operator:ann", "reason": "because"}


@pytest.fixture
def row(db) -> Row:
    beat_schedule.ensure_flow()
    workers.schedule(
        Schedule(
            *("renew", "toy_named"),
            every=timedelta(hours=1),
            overlap="both",
            input={"name": "Ada Lovelace"},
            attributes={"email": "ada@example.org"},
        )
    )
    return Row.objects.get()


@pytest.fixture
def steerer(row):
    return staff("steerer", "operate_schedule")


def text(response) -> str:
    return response.content.decode()


def test_list_shows_schedules_and_says_that_beats_are_beats(viewer, row):
    page = text(viewer.get(LIST))
    assert "renew" in page
    assert "Celery Beat" in page
    assert "workers.sweep" not in page


def test_page_shows_five_instants_and_masks_what_is_personal(steerer, row):
    page = text(steerer.get(f"{LIST}{row.pk}/change/"))
    assert page.count("<li><time") == 5
    assert "at run time" in page
    assert "Lovelace" not in page
    assert "ada@" not in page
    for verb in ("pause", "run", "skip", "backfill"):
        assert f"{LIST}{row.pk}/{verb}/" in page
    assert f"{LIST}{row.pk}/resume/" not in page


def test_who_may_only_look_is_offered_nothing(viewer, row):
    assert f"{LIST}{row.pk}/pause/" not in text(viewer.get(f"{LIST}{row.pk}/change/"))
    assert viewer.post(f"{LIST}{row.pk}/pause/", {"reason": "x"}).status_code == 403


@pytest.mark.parametrize(
    ("verb", "event"),
    [("pause", "schedule_paused"), ("run", "schedule_run"), ("skip", "schedule_skipped")],
)
def test_verb_acts_once_with_a_reason_and_is_journalled(steerer, row, verb, event):
    url = f"{LIST}{row.pk}/{verb}/"
    assert steerer.post(url, {"reason": ""}).status_code == 400
    answer = steerer.post(url, {"reason": "because"}, follow=True)
    assert answer.redirect_chain[-1][0] == f"{LIST}{row.pk}/change/"
    entry = Journal.objects.get(event=event)
    assert entry.detail["schedule"] == "renew"
    assert (entry.actor, entry.detail["reason"]) == ("operator:steerer", "because")
    if verb != "run":
        assert steerer.post(url, {"reason": "again"}).status_code == 409


def test_resumed_in_the_desk(steerer, row):
    schedules.pause("renew", **BY)
    steerer.post(f"{LIST}{row.pk}/resume/", {"reason": "because"})
    assert Row.objects.get().paused_at is None


def test_backfill_is_previewed_and_begins_when_it_is_confirmed(steerer, row):
    url = f"{LIST}{row.pk}/backfill/"
    now = dialect.read_clock().replace(microsecond=0, tzinfo=None)
    window = {
        "since": (now - timedelta(hours=5)).isoformat(),
        "until": (now - timedelta(minutes=61)).isoformat(),
        "reason": "lost night",
    }
    preview = text(steerer.post(url, window))
    assert "4 processes would begin at most." in preview
    assert Row.objects.get().backfill_at is None
    steerer.post(url, {**window, "confirmed": "on"})
    assert Row.objects.get().backfill_at is not None
    assert not Process.objects.exists()


def test_schedule_whose_code_is_gone_is_shown_without_its_input(steerer, row):
    Row.objects.update(workflow="nowhere", problem="KeyError: 'ada@example.org'")
    for url in (LIST, f"{LIST}{row.pk}/change/"):
        page = text(steerer.get(url))
        assert "Lovelace" not in page
        assert "ada@" not in page
    assert steerer.post(f"{LIST}{row.pk}/run/", {"reason": "x"}).status_code == 409


def sas(*words) -> str:
    out = StringIO()
    call_command("sas", "schedule", *words, stdout=out)
    return out.getvalue()


def test_terminal_lists_shows_and_steers(row):
    assert "every 3600 s" in sas("list")
    assert "Lovelace" not in sas("list", "--json")
    assert sas("show", "renew").count("next: ") == 5
    why = ("--reason", "because")
    assert "renew is paused." in sas("pause", "renew", *why)
    assert "paused" in sas("list")
    assert "renew is resumed." in sas("resume", "renew", *why)
    assert "renew began process " in sas("run", "renew", *why)
    assert "renew leaves out" in sas("skip", "renew", *why)
    window = ("--since", "2026-01-01T00:30:00+00:00", "--until", "2026-01-01T04:00:00+00:00")
    assert "would begin 4 processes at most" in sas("backfill", "renew", *window, "--dry-run")
    assert "begins 4 processes at most" in sas("backfill", "renew", *window, *why)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("pause", "renew"), "Say why"),
        (("pause", "none", "--reason", "x"), "There is no schedule 'none'"),
        (("show", "none"), "There is no schedule 'none'"),
        (("resume", "renew", "--reason", "x"), "is not paused"),
    ],
)
def test_terminal_refuses(row, words, refusal):
    with pytest.raises(CommandError, match=refusal):
        sas(*words)
