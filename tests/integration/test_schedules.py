"""Schedules: fired by the poll, once for each instant; made, steered and ended."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

import workers
from workers import Schedule, StateError, UnknownWorkflow, WorkflowError
from workers.client import schedules
from workers.definitions import registry
from workers.models import Alert, Journal, Process
from workers.models import Schedule as Row
from workers.operate import schedules as firing
from workers.privacy import persons
from workers.store import alert_resolution, duties, leases
from workers.store import schedules as rows
from workers.store.duties import When

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
BEFORE = NINE - timedelta(minutes=30)
HOUR = timedelta(hours=1)
BY = {"actor": "operator:ann", "reason": "because"}


def hourly(name="hourly", **more):
    return Schedule(name, "toy_line", **{"cron": "0 * * * *", **more})


def make(now=BEFORE, **more):
    workers.schedule(hourly(**more), now=now)
    return Row.objects.get()


def poll(now):
    """Fire what is due, as a poll does."""
    for row_id, name in rows.due(500, now):
        firing.fire(row_id, name, now)


def fired():
    keys = Process.objects.order_by("id").values_list("submission_key", flat=True)
    return [key.removeprefix("schedule:hourly:2026-03-01T") for key in keys]


@pytest.fixture
def declared(monkeypatch):
    """Declare schedules in the code of a test."""
    monkeypatch.setattr(registry, "_schedules", table := {})
    return lambda schedule: table.setdefault(schedule.name, schedule)


def alerts(code):
    return list(Alert.objects.filter(code=code, resolved_at=None))


def test_instant_fires_once_and_the_next_is_set_in_the_same_commit():
    make(input={"a": 1})
    poll(NINE - timedelta(seconds=1))
    assert fired() == []
    poll(NINE)
    poll(NINE + timedelta(seconds=5))

    process, row = Process.objects.get(), Row.objects.get()
    assert (process.subject, process.input) == ("hourly 2026-03-01 09:00", {"a": 1})
    assert process.submission_key == "schedule:hourly:2026-03-01T09:00:00Z"
    assert Journal.objects.get(event="submitted").actor == "schedule:hourly"
    assert (row.next_at, row.last_at, row.last_process) == (NINE + HOUR, NINE, process.pk)


def test_declared_schedule_runs_with_the_poll_and_its_function_gets_local_time(
    declared, wire, monkeypatch
):
    def day(at):
        return {"day": at.isoformat()}

    declared(hourly(time_zone="Europe/Paris", input=day, subject="Nightly"))
    from workers.testing import frozen_clock

    with frozen_clock(BEFORE) as clock:
        wire.run_for(clock, hours=1)
    process = Process.objects.get()
    assert (process.subject, process.input) == ("Nightly", {"day": "2026-03-01T10:00:00+01:00"})
    assert process.state == "processed"
    row = Row.objects.get()
    assert (row.is_declared, row.input, row.next_at) == (True, None, NINE + HOUR)


@pytest.mark.parametrize("catch_up", [0, 1, 6, 7])
def test_after_seven_hours_of_no_poll(catch_up):
    make(overlap="both", catch_up=catch_up * HOUR)
    poll(NINE + timedelta(hours=6, minutes=59))

    row = Row.objects.get()
    assert len(fired()) == catch_up
    assert (row.missed, row.next_at) == (7 - catch_up, NINE + 7 * HOUR)
    missed = alerts("schedule_missed")
    assert len(missed) == (catch_up < 7)
    if missed:
        assert missed[0].params["count"] == 7 - catch_up
        assert missed[0].params["first"] == NINE.isoformat()


def test_missed_instants_fire_one_after_another_under_skip(wire):
    make(catch_up=7 * HOUR)
    at = NINE + timedelta(hours=2, minutes=30)
    for seconds in (0, 10, 20, 30):
        poll(at + timedelta(seconds=seconds))
        assert len(fired()) == min(1 + seconds // 10, 3)
        Process.objects.update(state="processed", started_at=at, finished_at=at)
    assert (Row.objects.get().skipped, Row.objects.get().missed) == (0, 0)


@pytest.mark.parametrize("standing", ["running", "paused", "in error"])
@pytest.mark.parametrize(
    ("overlap", "count", "skipped"),
    [("skip", 1, 1), ("queue", 1, 0), ("both", 2, 0), ("replace", 2, 0)],
)
def test_process_before_counts_as_running_until_it_ends(overlap, count, skipped, standing):
    make(overlap=overlap, catch_up=2 * HOUR)
    poll(NINE)
    first = Process.objects.get()
    if standing == "paused":
        workers.pause(first.pk, **BY)
    if standing == "in error":
        Process.objects.update(state="error", started_at=NINE)
        first.steps.filter(name="one").update(state="error")
    poll(NINE + HOUR)

    assert (Process.objects.count(), Row.objects.get().skipped) == (count, skipped)
    first.refresh_from_db()
    is_replaced = overlap == "replace"
    assert (first.state in ("cancelled", "compensating")) == is_replaced
    # What waits begins once the first has ended.
    Process.objects.filter(pk=first.pk).update(
        state="processed", outcome=None, paused_at=None, started_at=NINE, finished_at=NINE
    )
    poll(NINE + HOUR + timedelta(seconds=20))
    assert Process.objects.count() == (2 if overlap == "queue" else count)


def test_replacement_that_may_not_be_cancelled_runs_on_and_the_instant_is_skipped(monkeypatch):
    make(overlap="replace")
    poll(NINE)
    Process.objects.update(state="compensating", outcome="compensated", started_at=NINE)
    poll(NINE + HOUR)
    assert (Process.objects.count(), Row.objects.get().skipped) == (1, 1)


def test_clock_that_steps_back_fires_nothing_twice_and_holds_up_nothing():
    make(overlap="both")
    ahead = NINE + timedelta(days=400)
    poll(ahead)
    born = Process.objects.count()
    # It was wrong by more than a year; all is as it should be an hour later.
    poll(NINE - timedelta(minutes=1))
    assert (Process.objects.count(), Row.objects.get().next_at) == (born, NINE)
    poll(NINE)
    poll(NINE)
    assert Process.objects.count() == born + 1
    # A second back is no jump.
    poll(NINE - timedelta(seconds=1))
    assert Row.objects.get().next_at == NINE + HOUR


def test_bad_schedules_are_told_once_and_hold_up_no_other(declared):
    def broken(at):
        raise KeyError("customer")

    declared(hourly("a broken", input=broken))
    declared(Schedule("b unknown", "nowhere", cron="0 * * * *"))
    for schedule in registry.schedules().values():
        rows.write(schedule, now=BEFORE)
    make_row = hourly("c gone zone")
    workers.schedule(make_row, now=BEFORE)
    Row.objects.filter(name="c gone zone").update(time_zone="Europe/Atlantis")
    workers.schedule(hourly("d good"), now=BEFORE)
    for seconds in range(0, 600, 5):
        poll(NINE + timedelta(seconds=seconds))

    assert Process.objects.get().subject == "d good 2026-03-01 09:00"
    told = {alert.params["schedule"]: alert.params["error"] for alert in alerts("schedule_failed")}
    assert list(told) == ["a broken", "b unknown", "c gone zone"]
    assert told["a broken"] == "KeyError: 'customer'"
    assert "nowhere" in told["b unknown"]
    assert "Europe/Atlantis" in told["c gone zone"]
    # Not with each poll.
    assert max(alert.times for alert in Alert.objects.all()) <= 10


def test_mended_schedule_fires_within_catch_up_and_ends_its_alert(declared):
    declared(hourly(input=lambda at: {}["x"]))
    rows.write(registry.schedules()["hourly"], now=BEFORE)
    poll(NINE)
    alert_resolution.resolve_ended(NINE)
    assert len(alerts("schedule_failed")) == 1

    registry._schedules["hourly"] = hourly()
    poll(NINE + timedelta(minutes=10))
    alert_resolution.resolve_ended(NINE + timedelta(minutes=11))
    assert fired() == ["09:00:00Z"]
    assert alerts("schedule_failed") == []


def test_schedule_removed_from_code_is_left_to_others_and_then_ends_and_is_told(declared):
    rows.write(hourly(), now=BEFORE)
    poll(NINE + timedelta(minutes=9))
    assert (Row.objects.count(), fired()) == (1, [])
    poll(NINE + timedelta(minutes=10))
    assert (Row.objects.count(), fired()) == (0, [])
    assert alerts("schedule_gone")[0].params["schedule"] == "hourly"


def test_code_changes_a_schedule_once_what_is_due_has_fired(declared):
    declared(hourly())
    rows.write(hourly(), now=BEFORE)
    changed = hourly(cron="30 * * * *")
    assert not rows.write(changed, now=NINE)
    poll(NINE)
    assert rows.write(changed, now=NINE)
    assert not rows.write(changed, now=NINE)
    assert fired() == ["09:00:00Z"]
    assert Row.objects.get().next_at == NINE + timedelta(minutes=30)


def test_schedule_that_is_as_the_row_says_is_not_written_again(declared):
    declared(hourly(input={"days": (1, 2)}, attributes={"customer": 7}))
    (schedule,) = rows.outdated(registry.schedules())
    rows.write(schedule, now=BEFORE)
    assert rows.outdated(registry.schedules()) == []
    assert Row.objects.get().input == {"days": [1, 2]}


def test_schedule_at_run_time_changes_and_ends(declared):
    make(input={"customer": 7}, overlap="queue")
    workers.schedule(hourly(input={"customer": 8}), now=BEFORE)
    assert Row.objects.get().input == {"customer": 8}
    assert workers.unschedule("hourly")
    assert not workers.unschedule("hourly")
    assert not Row.objects.exists()
    poll(NINE)
    assert fired() == []
    events = list(Journal.objects.order_by("id").values_list("event", flat=True))
    assert events == ["scheduled", "scheduled", "unscheduled"]


def test_schedule_at_run_time_takes_attributes_with_their_types():
    wanted = Schedule("a", "toy_named", cron="0 * * * *", attributes={"customer": 7})
    workers.schedule(wanted, now=BEFORE)
    poll(NINE)
    assert dict(Process.objects.get().attributes.values_list("name", "value")) == {"customer": "7"}


@pytest.mark.parametrize(
    ("wanted", "error", "text"),
    [
        (hourly(input=lambda at: {}), WorkflowError, "input must be a dict, got a function"),
        (Schedule("x", "nowhere", cron="0 * * * *"), UnknownWorkflow, "nowhere"),
        (hourly(input={"at": NINE}), TypeError, "input must be JSON"),
        (hourly(attributes={"customer": 7}), ValueError, "attributes must be declared"),
        (hourly(subject=" "), ValueError, "subject must not be blank"),
    ],
)
def test_schedule_that_no_row_holds_is_refused(wanted, error, text):
    with pytest.raises(error, match=text):
        workers.schedule(wanted, now=BEFORE)
    assert not Row.objects.exists()


def test_names_of_the_code_are_the_codes(declared):
    declared(hourly())
    for act in (lambda: workers.schedule(hourly()), lambda: workers.unschedule("hourly")):
        with pytest.raises(StateError, match="declared in code"):
            act()


def test_paused_schedule_fires_nothing_and_resumed_it_leaves_the_pause_out():
    make()
    schedules.pause("hourly", now=BEFORE, **BY)
    poll(NINE)
    with pytest.raises(StateError, match="paused already"):
        schedules.pause("hourly", **BY)
    schedules.resume("hourly", now=NINE + timedelta(minutes=90), **BY)
    poll(NINE + timedelta(minutes=90))
    assert fired() == []
    poll(NINE + 2 * HOUR)
    assert (fired(), Row.objects.get().missed) == (["11:00:00Z"], 0)
    with pytest.raises(StateError, match="is not paused"):
        schedules.resume("hourly", **BY)
    acts = list(Journal.objects.exclude(event="submitted").values_list("event", "actor"))
    assert acts[1:] == [("schedule_paused", BY["actor"]), ("schedule_resumed", BY["actor"])]


def test_run_now_is_beside_the_instants_and_counts_as_running():
    make()
    process = schedules.run("hourly", now=BEFORE, **BY)
    assert process.subject == "hourly 2026-03-01 08:30"
    with pytest.raises(StateError, match=f"Process {process.pk} of schedule hourly has not ended"):
        schedules.run("hourly", now=BEFORE, **BY)
    poll(NINE)
    assert (Process.objects.count(), Row.objects.get().skipped) == (1, 1)


def test_next_instant_is_left_out_once():
    make()
    assert schedules.skip("hourly", **BY) == NINE
    assert schedules.upcoming(Row.objects.get())[0] == NINE + HOUR
    with pytest.raises(StateError, match="leaves out"):
        schedules.skip("hourly", **BY)
    poll(NINE)
    poll(NINE + HOUR)
    assert (fired(), Row.objects.get().skip_at) == (["10:00:00Z"], None)
    assert len(schedules.upcoming(Row.objects.get())) == 5


def test_backfill_begins_what_has_not_fired_some_at_a_time():
    make(overlap="both")
    poll(NINE)
    window = NINE - 30 * HOUR, NINE
    now = NINE + timedelta(minutes=1)
    assert len(schedules.window(Row.objects.get(), *window)) == 31
    assert Row.objects.get().backfill_at is None
    assert len(schedules.backfill("hourly", *window, now=now, **BY)) == 31
    with pytest.raises(StateError, match="under way"):
        schedules.backfill("hourly", *window, now=now, **BY)
    poll(now)
    assert Process.objects.count() == 21
    poll(now)
    # The last one had fired by itself.
    assert Process.objects.count() == 31
    assert Row.objects.get().backfill_at is None
    poll(now)
    schedules.backfill("hourly", *window, now=now, **BY)
    poll(now)
    poll(now)
    assert Process.objects.count() == 31
    assert Row.objects.get().next_at == NINE + HOUR


@pytest.mark.parametrize(
    ("begin", "end", "text"),
    [
        (BEFORE, BEFORE, "no instant in this window"),
        (NINE, NINE + HOUR, "ends in the past"),
        (NINE - timedelta(days=2000), NINE - HOUR, "10000 instants at most"),
    ],
)
def test_backfill_of_a_window_that_cannot_be_is_refused(begin, end, text):
    make()
    with pytest.raises(StateError, match=text):
        schedules.backfill("hourly", begin, end, now=NINE, **BY)


@pytest.mark.parametrize("act", ["pause", "resume", "run", "skip"])
def test_schedule_that_there_is_not_is_refused(act):
    with pytest.raises(StateError, match="There is no schedule 'none'"):
        getattr(schedules, act)("none", **BY)


def test_installation_without_schedules_pays_no_statement(declared):
    duties.perform(duties.registered(When.POLL), "test")
    with CaptureQueriesContext(connection) as queries:
        duties.perform({"schedules": duties.registered(When.POLL)["schedules"]}, "test")
    assert len(queries) == 1
    assert leases.seconds_since("schedules") is None


def test_person_in_a_schedule_is_exported_and_erased_once_it_is_unscheduled():
    make(name="hourly", input={"email": "ada@example.org"})
    document = persons.export("ada@example.org", actor="operator:ann")
    assert '"schedules": [{"name": "hourly"' in document
    kept = persons.erase("ada@example.org", **BY).kept
    assert kept == [
        "Schedule hourly begins processes about this person. Unschedule it, then erase."
    ]
    workers.unschedule("hourly")
    assert persons.erase("ada@example.org", **BY).kept == []
