"""Operators' verbs: each is whole or nothing, and repeated by whoever saw no answer."""

from collections.abc import Callable
from io import StringIO
from typing import Any
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from tests.admin import toys
from tests.concurrency.matrix.calls import BY_NAME
from tests.concurrency.matrix.scene import Scene
from tests.crashes.scenario import Scenario, always, nothing
from tests.toyflow import agents as toy
from workers import supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.conf import sas
from workers.desk.models import Incident, Note
from workers.desk.store import alert_commands, incidents, notes
from workers.exceptions import Permanent, StateError, Unavailable
from workers.management.nouns import restored
from workers.models import Alert, Flow, Hold, Journal, LimitedKey, Process, Step
from workers.privacy import persons
from workers.store import journal
from workers.store.db import dialect
from workers.store.flow import holds
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
    event: str,
    holds_then: Callable[[], bool],
    *,
    step: str = "two",
    rows: int = 1,
    act: Callable[[int], object] | None = None,
) -> Scenario:
    """Return the scenario of a verb that is done once, however often it is asked for.

    ``name`` is that of its call in the race matrix, unless ``act`` does it.
    """

    def begin() -> None:
        process = Process.objects.first()
        scene = Scene(process.pk if process else 0, step)
        try:
            if act is not None:
                act(scene.process_id)
            else:
                BY_NAME[name].run(scene, **(_page if name.startswith("operations.") else {}))
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


def _are(process: str, step: str, name: str = "two") -> Callable[[], bool]:
    return lambda: (_process().state, _step(name).state) == (process, step)


def _is_set() -> bool:
    return Flow.objects.get(agent="toy.alpha").window == 1


def _is_key_set() -> bool:
    return LimitedKey.objects.get().window == 3


VERBS = [
    _verb("operations.pause", _resting, "paused", lambda: _process().paused_at is not None),
    _verb("operations.resume", _paused, "unpaused", lambda: _process().paused_at is None),
    _verb("operations.retry", _resting, "hurried", _is_hurried),
    _verb("operations.retime", _resting, "retimed", lambda: _step().timeout_seconds == 10),
    _verb("operations.skip", _resting, "skipped", _are("processed", "skipped")),
    _verb("operations.complete", _resting, "processed", _are("processed", "processed"), rows=2),
    _verb("operations.resubmit", _failed, "resubmitted", _are("processing", "pending"), rows=2),
    _verb(
        *("operations.redo", toys.without_mail, "resubmitted"),
        holds_then=_are("processing", "pending", "mail"),
        step="mail",
        rows=2,
    ),
    _verb(
        *("operations.undo", _resting, "compensating"),
        holds_then=lambda: _process().state == "compensating",
    ),
    _verb(
        *("operations.begin_again", _resting, "compensating"),
        holds_then=lambda: _process().renews == ["one", "two"],
        step="one",
    ),
    _verb(
        *("edit_input.edit_input", _editable, "input_edited"),
        holds_then=lambda: _process().input["gift"] is True,
    ),
    _verb("erase.erase", _personal, "erased", _is_forgotten),
    _verb("holds.hold", _resting, "held", lambda: Hold.objects.get().ended_at is None),
    _verb(
        *("holds.lift", lambda wire: holds.hold("agent", "toy.alpha", **WHO), "lifted"),
        holds_then=lambda: Hold.objects.get().ended_at is not None,
    ),
    _verb("flow_settings.set_flow", _resting, "flow_set", _is_set),
    _verb("key_settings.set_key", _resting, "flow_set", _is_key_set),
    _verb(
        *("set flow in the admin", _admin, "flow_set", _is_set),
        act=lambda pk: _post(
            "/admin/workers/flow/toy.alpha/set/",
            window=1,
            rate_per_second="",
            forced="",
            seen="400:None:None:None",
        ),
    ),
    _verb(
        *("retime in the admin", _admin, "retimed", lambda: _step().timeout_seconds == 77),
        act=lambda pk: _post(
            f"/admin/workers/process/{pk}/steps/two/retime/", seconds=77, seen="30", **_page
        ),
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


def _of_incident(name: str, event: str) -> Scenario:
    """Return the scenario of an act on an incident, which a repetition may find done."""

    def begin() -> None:
        user = int(get_user_model().objects.get().pk)
        BY_NAME[name].run(Scene(0, user_id=user, incident_id=Incident.objects.get().pk))

    def check(after: Aftermath) -> None:
        rows = Journal.objects.filter(event=event, actor="operator:ann").count()
        # Whoever saw no answer writes a note, or puts off, once more; the rest is done once.
        is_repeated = after.crash is not None and event in ("incident_noted", "incident_snoozed")
        assert 1 <= rows <= 1 + is_repeated
        assert Note.objects.count() == (rows if event == "incident_noted" else 0)

    return Scenario(name, begin, check, prepare=_gathered, run=nothing)


def _gather(wire: Wire, clock: Clock) -> None:
    """Sweep until the alert is gathered; have its cause end, and sweep until it is resolved."""
    # The lease of whoever died over it.
    clock.advance(seconds=sas.lease_seconds + 1)
    supervisor.sweep()
    assert Alert.objects.get().group_id is not None
    Alert.objects.update(resolved_at=clock.now, acknowledged_at=clock.now)
    supervisor.sweep()


def _is_resolved(after: Aftermath) -> None:
    incident = Incident.objects.get()
    assert (incident.state, incident.members, incident.total) == ("resolved", 0, 1)
    assert Alert.objects.get().group_id == incident.pk
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
    journal.record_act("personal_shown", actor="operator:ann", process_id=_process().pk)


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
    _of_incident("incident_commands.acknowledge", "incident_taken"),
    _of_incident("incident_commands.assign", "incident_assigned"),
    _of_incident("incident_commands.snooze", "incident_snoozed"),
    _of_incident("incident_commands.resolve", "incident_resolved"),
    _of_incident("notes.write_on_incident", "incident_noted"),
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
