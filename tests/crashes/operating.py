"""Operators' verbs: each is whole or nothing, and repeated by whoever saw no answer."""

from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from tests.admin import toys
from tests.crashes.scenario import Scenario, always, nothing
from tests.toyflow import agents as toy
from workers import supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.conf import sas
from workers.desk.models import Note
from workers.desk.store import (
    alert_commands,
    incident_commands,
    incidents,
    notes,
)
from workers.exceptions import Permanent, StateError, Unavailable
from workers.management.nouns import restored
from workers.models import Alert, Flow, Hold, Incident, Journal, Process, Step
from workers.privacy import erase, persons
from workers.store import acts
from workers.store.db import dialect
from workers.store.flow import flow_settings, holds
from workers.store.operate import edit_input
from workers.testing import Aftermath, Clock, Wire

# Nothing listens: proof that nothing happened, so that a step may begin again.
_AWAY = Unavailable("not_listening", "closed for an hour", retry_after=3600, no_effect=True)
WHO: dict[str, Any] = {"actor": "operator:ann", "reason": "because"}


def _resting(wire: Wire) -> None:
    """A process whose first step is done, and whose second rests for an hour."""
    toy.script["toy.beta"] = always(_AWAY)
    submit("toy_dated", subject="Toy 1", input={})
    wire.run_until_idle()


def _paused(wire: Wire) -> None:
    _resting(wire)
    operations.pause(Process.objects.get().pk, **WHO)


def _failed(wire: Wire) -> None:
    toy.script["toy.beta"] = always(Permanent("no", "it is refused for good"))
    submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()


def _editable(wire: Wire) -> None:
    given = {"customer": {"name": "Ada", "address": "1 High Street"}, "gift": False}
    submit("toy_editable", subject="Toy 1", input=given)


def _personal(wire: Wire) -> None:
    toys.of_ada(wire, "Toy of Ada")


def _is_forgotten() -> bool:
    process = _process()
    texts = [process.subject, str(process.input), *map(str, Journal.objects.values_list("detail"))]
    return process.erased_at is not None and not any("ada" in text.lower() for text in texts)


def _forgotten(after: Aftermath) -> None:
    """Whoever saw no answer asks again, and that is told again."""
    after.assert_same_journal(may_add=("person_erased",))
    assert _is_forgotten()
    assert Journal.objects.filter(event="erased").count() == 1
    assert Journal.objects.filter(event="person_erased").count() in (1, 2)


def _admin(wire: Wire) -> None:
    _resting(wire)
    get_user_model().objects.create_superuser("ann", password="x")


def _failed_and_admin(wire: Wire) -> None:
    _failed(wire)
    get_user_model().objects.create_superuser("ann", password="x")


def _post(url: str, **form: Any) -> None:
    """Post a form as the admin shows it; 302 did it, 409 finds it done."""
    client = Client()
    client.force_login(get_user_model().objects.get())
    status = client.post(url, {"reason": "because", **form}).status_code
    assert status in (302, 409), status


#: What the operator's page shows, which was opened before the verb.
_page: dict[str, Any] = {}


def _verb(
    name: str,
    state: Callable[[Wire], object],
    act: Callable[[Process], object],
    event: str,
    holds_then: Callable[[], bool],
    rows: int = 1,
) -> Scenario:
    """Return the scenario of a verb that is done once, however often it is asked for."""

    def begin() -> None:
        process = Process.objects.first()
        try:
            act(process)  # type: ignore[arg-type]
        except StateError:
            # Of two clicks one does something: it was done before the crash.
            assert Journal.objects.filter(event=event).exists()

    def check(after: Aftermath) -> None:
        after.assert_same_journal(may_add=())
        assert Journal.objects.filter(event=event, actor="operator:ann").count() == rows
        assert holds_then()

    def prepare(wire: Wire) -> None:
        state(wire)
        _page.clear()
        if event != "lifted":
            _page["sequence"] = _process().sequence

    return Scenario(name, begin, check, prepare=prepare, run=nothing)


def _step(name: str = "two") -> Step:
    return Step.objects.get(name=name)


def _process() -> Process:
    return Process.objects.get()


def _is_hurried() -> bool:
    not_before = _step().not_before
    return not_before is not None and not_before <= dialect.read_clock()


VERBS = [
    _verb(
        "pause",
        _resting,
        lambda p: operations.pause(p.pk, **WHO),
        "paused",
        lambda: _process().paused_at is not None,
    ),
    _verb(
        "unpause",
        _paused,
        lambda p: operations.resume(p.pk, **WHO),
        "unpaused",
        lambda: _process().paused_at is None,
    ),
    _verb(
        "retry now",
        _resting,
        lambda p: operations.retry(p.pk, "two", **WHO),
        "hurried",
        _is_hurried,
    ),
    _verb(
        "retime",
        _resting,
        lambda p: operations.retime(p.pk, "two", 77, **WHO),
        "retimed",
        lambda: _step().timeout_seconds == 77,
    ),
    _verb(
        "skip",
        _resting,
        lambda p: operations.skip(p.pk, "two", **WHO),
        "skipped",
        lambda: (_step().state, _process().state) == ("skipped", "processed"),
    ),
    _verb(
        "complete",
        _resting,
        lambda p: operations.complete(p.pk, "two", {"by": "hand"}, **WHO),
        "processed",
        lambda: (_step().result, _process().state) == ({"by": "hand"}, "processed"),
        rows=2,
    ),
    _verb(
        "resubmit",
        _failed,
        lambda p: operations.resubmit(p.pk, **_page, **WHO),
        "resubmitted",
        lambda: (_step().state, _process().state) == ("pending", "processing"),
        rows=2,
    ),
    _verb(
        "redo",
        toys.without_mail,
        lambda p: operations.redo(p.pk, "mail", **_page, **WHO),
        "resubmitted",
        lambda: (_step("mail").state, _process().state) == ("pending", "processing"),
        rows=2,
    ),
    _verb(
        "cancel",
        _resting,
        lambda p: operations.undo(p.pk, outcome="cancelled", **_page, **WHO),
        "compensating",
        lambda: _process().state == "compensating",
    ),
    _verb(
        "begin again",
        _resting,
        lambda p: operations.begin_again(p.pk, "one", **_page, **WHO),
        "compensating",
        lambda: _process().renews == ["one", "two"],
    ),
    _verb(
        "edit",
        _editable,
        lambda p: edit_input.edit_input(p.pk, {"gift": True}, **WHO),
        "input_edited",
        lambda: _process().input["gift"] is True,
    ),
    _verb("erase", _personal, lambda p: erase.erase(p.pk, **WHO), "erased", _is_forgotten),
    _verb(
        "hold",
        _resting,
        lambda p: holds.hold("agent", "toy.beta", **WHO),
        "held",
        lambda: Hold.objects.get().ended_at is None,
    ),
    _verb(
        "lift",
        lambda wire: holds.hold("agent", "toy.beta", **WHO),
        lambda p: holds.lift("agent", "toy.beta", **WHO),
        "lifted",
        lambda: Hold.objects.get().ended_at is not None,
    ),
    _verb(
        "set flow",
        _resting,
        lambda p: flow_settings.set_flow("toy.beta", {"window": 7}, **WHO),
        "flow_set",
        lambda: Flow.objects.get(agent="toy.beta").window == 7,
    ),
    _verb(
        "set flow in the admin",
        _admin,
        lambda p: _post(
            "/admin/workers/flow/toy.beta/set/",
            window=7,
            rate_per_second="",
            forced="",
            seen="400:None:None:None",
        ),
        "flow_set",
        lambda: Flow.objects.get(agent="toy.beta").window == 7,
    ),
    _verb(
        "retime in the admin",
        _admin,
        lambda p: _post(
            f"/admin/workers/process/{p.pk}/steps/two/retime/", seconds=77, seen="30", **_page
        ),
        "retimed",
        lambda: _step().timeout_seconds == 77,
    ),
]


def _acknowledge() -> None:
    alert_commands.acknowledge(
        Alert.objects.get().pk, get_user_model().objects.get().pk, "seen", actor="operator:ann"
    )


def _acknowledged(after: Aftermath) -> None:
    alert = Alert.objects.get()
    assert (alert.acknowledged_at is not None, alert.comment) == (True, "seen")
    after.assert_same_journal(may_add=())


def _gathered(wire: Wire) -> None:
    _failed_and_admin(wire)
    incidents.collect()


def _of_incident(name: str, act: Callable[[int, int], bool], event: str) -> Scenario:
    """Return the scenario of an act on an incident, which a repetition may find done."""

    def begin() -> None:
        act(Incident.objects.get().pk, int(get_user_model().objects.get().pk))

    def check(after: Aftermath) -> None:
        rows = Journal.objects.filter(event=event, actor="operator:ann").count()
        # Whoever saw no answer writes a note, or puts off, once more; the rest is done once.
        is_repeated = after.crash is not None and event in ("incident_noted", "incident_snoozed")
        assert 1 <= rows <= 1 + is_repeated
        assert Note.objects.count() == (rows if event == "incident_noted" else 0)

    return Scenario(name, begin, check, prepare=_gathered, run=nothing)


def _soon() -> datetime:
    return dialect.read_clock() + timedelta(hours=1)


def _gather(wire: Wire, clock: Clock) -> None:
    """Sweep until the alert is gathered; have its cause end, and sweep until it is resolved."""
    # The lease of whoever died over it.
    clock.advance(seconds=sas.lease_seconds + 1)
    supervisor.sweep()
    assert Alert.objects.get().incident is not None
    Alert.objects.update(resolved_at=clock.now, acknowledged_at=clock.now)
    supervisor.sweep()


def _is_resolved(after: Aftermath) -> None:
    incident = Incident.objects.get()
    assert (incident.state, incident.members, incident.total) == ("resolved", 0, 1)
    assert Alert.objects.get().incident == incident
    after.assert_same_journal(may_add=())


def _three_resting(wire: Wire) -> None:
    toy.script["toy.beta"] = always(_AWAY)
    for number in range(3):
        submit("toy_line", subject=f"Toy {number}", input={})
    wire.run_until_idle()
    _page["since"] = timezone.now()


def _restore() -> None:
    """Mark what may have happened, in portions of two; whoever died begins again."""
    with patch.object(restored, "PORTION", 2):
        call_command("sas", "restored", "--since", _page["since"].isoformat(), stdout=StringIO())


def _all_marked(after: Aftermath) -> None:
    after.assert_same_journal(may_add=())
    assert Journal.objects.filter(event="restored", step=None).count() == 3
    assert Step.objects.filter(name="two", is_in_doubt=True).count() == 3
    assert Alert.objects.get().code == "restored"


def _show() -> None:
    acts.record_act("personal_shown", actor="operator:ann", process_id=_process().pk)


def _told_who_saw(after: Aftermath) -> None:
    """Whoever saw no answer asks again: that is one row more, and never one too few."""
    after.assert_same_journal(may_add=("personal_shown",))
    assert Journal.objects.filter(event="personal_shown", actor="operator:ann").count() in (1, 2)


def _note() -> None:
    author = get_user_model().objects.get().pk
    notes.write_on_process(_process().pk, author, "seen", actor="operator:ann")


def _noted(after: Aftermath) -> None:
    """Whoever saw no answer writes again: two notes at most, each with its row."""
    after.assert_same_journal(may_add=("noted",))
    assert Note.objects.count() == Journal.objects.filter(event="noted").count()
    assert Note.objects.count() in (1, 2)


SCENARIOS = [
    *VERBS,
    Scenario("gather", lambda: None, _is_resolved, prepare=_failed, run=_gather),
    _of_incident(
        "take incident",
        lambda pk, user: incident_commands.acknowledge(pk, user, actor="operator:ann"),
        "incident_taken",
    ),
    _of_incident(
        "assign incident",
        lambda pk, user: incident_commands.assign(pk, user, actor="operator:ann"),
        "incident_assigned",
    ),
    _of_incident(
        "snooze incident",
        lambda pk, user: incident_commands.snooze(pk, _soon(), actor="operator:ann"),
        "incident_snoozed",
    ),
    _of_incident(
        "resolve incident",
        lambda pk, user: incident_commands.resolve(pk, user, actor="operator:ann"),
        "incident_resolved",
    ),
    _of_incident(
        "note on incident",
        lambda pk, user: notes.write_on_incident(pk, user, "seen", actor="operator:ann"),
        "incident_noted",
    ),
    Scenario("note on process", _note, _noted, prepare=_failed_and_admin, run=nothing),
    Scenario("show personal data", _show, _told_who_saw, prepare=_resting, run=nothing),
    Scenario(
        "erase a person",
        lambda: persons.erase("ada@example.org", **WHO),
        _forgotten,
        prepare=_personal,
        run=nothing,
    ),
    Scenario("acknowledge", _acknowledge, _acknowledged, prepare=_failed_and_admin, run=nothing),
    Scenario("restored", _restore, _all_marked, prepare=_three_resting, run=nothing),
]
