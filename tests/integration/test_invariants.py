"""Each invariant finds the row that breaks it, and nothing in a healthy store."""

import io
import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from orders import invariants as shop
from orders.models import Order, Product, Reservation
from orders.submission import Customer, Line, place_order
from tests.factories import AlertFactory, SinkFactory, a_spec, put
from tests.integration.conftest import begin, reread
from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent, Transient
from workers.models import Alert, Child, ChildGroup, Journal, LiveStep, Process, Step
from workers.ops import invariant_check
from workers.ops import invariants as engine
from workers.store.claims import claim_steps
from workers.store.db import dialect, slices
from workers.testing import pass_time
from workers.testing.agent_processes import room as anywhere


@pytest.fixture
def lively(wire) -> Process:
    """Fill the store with processes in every state; return one that is processed."""

    def moody(call: Call) -> dict[str, Any]:
        if call.subject == "Refused":
            raise Permanent("no", "never")
        if call.attempt == 1:
            raise Transient("http_500", "oops")
        return {}

    toy.script["toy.alpha"] = moody
    submit("toy_line", subject="Refused", input={})
    healed = submit("toy_diamond", subject="Healed", input={})
    for _ in range(4):
        wire.run_until_idle()
        pass_time(600)
    submit("toy_line", subject="Claimed", input={})
    begin(wire)
    submit("toy_line", subject="Fresh", input={})
    assert reread(healed).state == "processed"
    return healed


def test_a_healthy_store_breaks_none(lively):
    assert engine.violations() == []


def an_early_step(process: Process) -> None:
    Step.objects.filter(process=process, name="top").update(
        state="pending", result=None, not_before=timezone.now()
    )


def a_compensated(process: Process) -> None:
    Process.objects.filter(pk=process.pk).update(state="compensated", outcome="compensated")
    put(
        Step.objects.filter(process=process, name="left"),
        undo={"name": "unleft", "agent": "toy.undoer"},
    )


def a_claim_after(event: str) -> Callable[[Process], None]:
    def break_it(process: Process) -> None:
        first = Journal.objects.filter(process=process).earliest("id")
        Journal.objects.filter(pk=first.pk).update(event=event)

    return break_it


def an_old_deadline(process: Process) -> None:
    Process.objects.filter(pk=process.pk).update(
        state="processing", finished_at=None, deadline_at=timezone.now() - timedelta(minutes=5)
    )


def an_undo_too_early(process: Process) -> None:
    common = {"process": process, "agent": "toy.undoer", "failure_threshold": 10}
    for place, (name, state, after) in enumerate(
        [("unbottom", "waiting", []), ("unleft", "error", ["unbottom"])], 10
    ):
        Step.objects.create(
            **common,
            name=name,
            position=place,
            state=state,
            spec_digest=a_spec(after=tuple(after)),
            undoes=process.steps.get(name=name.removeprefix("un")),
            idempotency_key=f"{process.uid.hex}:{place}:1",
        )


def a_group(process: Process, **values: int) -> ChildGroup:
    """Return a group of a process, without children."""
    step = process.steps.get(position=0)
    usual = {"depth": 1, "at_once": 1, "tolerate": 0, "total": 0, "stopped": True}
    key = f"{step.idempotency_key}:{ChildGroup.objects.count()}"
    return ChildGroup.objects.create(step=step, key=key, workflow="toy_child", **(usual | values))


def too_many_children(process: Process) -> None:
    group = a_group(process, total=2, expanded_to=2)
    for index in range(2):
        Child.objects.create(group=group, index=index, item={}, state="open")


def two_of_a_key(_: Process) -> None:
    for number in range(2):
        submit("toy_keyed", subject="K", input={}, attributes={"customer": number})
    claim_steps.claim_due({"toy.keyed"}, anywhere())
    Step.objects.filter(agent="toy.keyed").update(limit_key="agent:toy.keyed:customer=7")


def blocked_by_nobody(_: Process) -> None:
    process = submit("toy_keyed", subject="K", input={}, attributes={"customer": 7})
    LiveStep.objects.filter(step__process=process).update(state="blocked")


def two_that_began(_: Process) -> None:
    for number in range(2):
        given = {"customer": number}
        submit("toy_exclusive", subject="X", input={}, attributes=given, version=2)
    claim_steps.claim_due({"toy.delta"}, anywhere())
    Process.objects.filter(subject="X").update(exclusive="workflow:toy_exclusive:customer=7")


BREAKS: dict[str, Callable[[Process], object]] = {
    "process_has_steps": lambda p: Step.objects.filter(process=p).delete(),
    "processed_is_settled": lambda p: Step.objects.filter(process=p, name="left").update(
        state="error", result=None
    ),
    "step_has_spec": lambda p: Step.objects.filter(process=p, position=0).update(spec_digest=7),
    "undone_is_undone": a_compensated,
    "nothing_forward_on_the_way_back": a_claim_after("compensating"),
    "nothing_claimed_while_paused": a_claim_after("paused"),
    "deadline_is_heeded": an_old_deadline,
    "error_is_told": lambda p: Alert.objects.all().delete(),
    "order_of_steps": an_early_step,
    "undone_in_reverse": an_undo_too_early,
    "something_comes_next": lambda p: Step.objects.filter(process__subject="Fresh").update(
        state="waiting", not_before=None
    ),
    "step_moves_are_legal": lambda p: Journal.objects.filter(
        process=p, step__name="left", event="processed"
    ).update(before="skipped"),
    "process_moves_are_legal": lambda p: Journal.objects.filter(process=p, event="started").update(
        before="cancelled"
    ),
    "attempts_count_up": lambda p: Journal.objects.filter(
        process=p, step__name="left", event="claimed"
    ).update(attempt=5),
    "submitters_are_told": lambda p: SinkFactory(
        process=p, last=p.sequence, next_try_at=timezone.now() - timedelta(minutes=5)
    ),
    # SQLite's clock tells milliseconds: another process's turn may well be the same.
    "live_steps_are_found": lambda p: LiveStep.objects.filter(state="error").update(
        turn=p.turn + timedelta(hours=1)
    ),
    "key_is_not_overfull": two_of_a_key,
    "exclusive_is_alone": two_that_began,
    "blocked_key_is_full": blocked_by_nobody,
    "step_journal_is_a_path": lambda p: Journal.objects.filter(
        process=p, step__name="left", event="processed"
    ).update(before="pending"),
    "process_journal_is_a_path": lambda p: Journal.objects.filter(
        process=p, event="started"
    ).update(after="error"),
    "step_state_is_journalled": lambda p: Journal.objects.filter(
        process=p, step__name="bottom", event="processed"
    ).delete(),
    "process_state_is_journalled": lambda p: Process.objects.filter(pk=p.pk).update(
        state="error", finished_at=None
    ),
    "sequence_has_no_gap": lambda p: Journal.objects.filter(process=p, sequence=2).delete(),
    "children_are_counted_once": lambda p: a_group(p, processed=2),
    "no_child_escapes": lambda p: Process.objects.filter(pk=p.pk).update(group=a_group(p)),
    "at_most_so_many_children_at_once": too_many_children,
    "keys_are_their_own": lambda p: Step.objects.filter(process=p, name="left").update(
        idempotency_key=p.steps.get(name="top").idempotency_key
    ),
    "whoever_is_told_is_told_everything": lambda p: SinkFactory(process=p, last=1),
    "attempts_are_journalled": lambda p: Step.objects.filter(process=p, name="left").update(
        attempt=7
    ),
    "failures_are_journalled": lambda p: Step.objects.filter(process=p, name="top").update(
        failure_count=0
    ),
    "processed_once": lambda p: Journal.objects.create(
        process=p,
        step=p.steps.get(name="left"),
        event="processed",
        before="processing",
        after="processed",
        attempt=9,
        actor="test",
        at=timezone.now(),
    ),
    "nothing_is_forgotten": lambda p: Step.objects.filter(
        process__subject="Claimed", state="processing"
    ).update(
        started_at=timezone.now() - timedelta(minutes=6),
        complete_by=timezone.now() - timedelta(minutes=5),
    ),
}


def test_a_process_whose_version_is_unknown_may_stand_still(lively):
    fresh = Process.objects.get(subject="Fresh")
    Step.objects.filter(process=fresh).update(state="waiting", not_before=None)
    now = timezone.now()
    AlertFactory(cause="c", code="unknown_definition", process=fresh, raised_at=now)

    assert engine.violations() == []


def test_a_process_whose_journal_was_pruned_is_not_compared_with_it(lively):
    Journal.objects.filter(process=lively).delete()
    assert engine.violations() != []

    Process.objects.filter(pk=lively.pk).update(pruned_at=timezone.now())

    assert engine.violations() == []


def test_a_number_that_two_rows_have_is_found(lively):
    last = Journal.objects.filter(process=lively).order_by("-sequence").exclude(sequence=None)[0]
    assert last.sequence is not None
    Journal.objects.filter(process=lively, sequence=last.sequence - 1).update(
        sequence=last.sequence
    )

    assert {found.invariant for found in engine.violations()} == {"sequence_has_no_gap"}


def test_a_key_of_another_process_is_found(lively):
    step = Step.objects.exclude(process=lively).first()
    assert step is not None
    step.idempotency_key = f"{lively.uid.hex}:99:1"
    step.save()

    assert {found.invariant for found in engine.violations()} == {"keys_are_their_own"}


def test_every_invariant_has_a_break():
    assert set(BREAKS) == {invariant.name for invariant in engine.INVARIANTS}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_invariant_is_found(lively, name):
    BREAKS[name](lively)

    assert name in {violation.invariant for violation in engine.violations()}


def check(*words: str) -> tuple[str, int]:
    out = io.StringIO()
    try:
        call_command("check_invariants", *words, stdout=out)
    except SystemExit as end:
        return out.getvalue(), int(str(end.code))
    return out.getvalue(), 0


def test_the_command_prints_the_rows_and_exits_1_where_one_is_broken(lively):
    count = len(engine.INVARIANTS) + len(shop.OWN_NAMES)
    text, code = check()
    assert (code, text) == (
        0,
        f"{count} invariants checked without ledgers (no sandbox answers), 0 rows break one.\n",
    )

    Step.objects.filter(process=lively, name="left").update(attempt=7)
    text, code = check()
    assert code == 1
    assert "Healed: left counts 7, journal 1 (A step was claimed as often as it counts.)" in text
    facts = json.loads(check("--json")[0])
    assert (facts["holds"], facts["invariants"], facts["ledgers"]) == (False, count, False)
    assert [row["invariant"] for row in facts["violations"]] == ["attempts_are_journalled"]


@pytest.mark.parametrize(
    ("error", "said"), [("refused\nIs the server running?", "refused"), ("", "OperationalError")]
)
def test_the_command_says_what_to_do_while_the_database_is_away(error, said, monkeypatch):
    def away(*_: object) -> list[tuple[int, int]]:
        raise OperationalError(error)

    monkeypatch.setattr(invariant_check, "slices", away)

    with pytest.raises(CommandError, match=rf"Nothing was checked: {said}\. Check DATA"):
        check("--json")


def test_slices_find_what_the_whole_finds(lively, monkeypatch):
    monkeypatch.setattr(slices, "SLICE", 1)
    Step.objects.filter(name="left").update(attempt=7)
    Journal.objects.filter(event="processed", step__isnull=True).update(after="pending")
    Process.objects.filter(subject="Refused").update(sequence=9)
    LiveStep.objects.filter(step__process__subject="Fresh").delete()
    whole = engine.violations()
    assert len({one.invariant for one in whole}) >= 4

    told: list[tuple[str, int, int]] = []
    results = list(invariant_check.check(lambda *progress: told.append(progress)))

    assert sorted(map(str, whole)) == sorted(
        str(one) for result in results for one in result.violations
    )
    assert [result.invariant for result in results] == [one.name for one in engine.INVARIANTS]
    assert max(of for _name, _done, of in told) >= 4


def test_an_invariant_that_takes_too_long_is_not_known_and_the_others_are(lively, monkeypatch):
    real = invariant_check.queries

    def slow(invariant: engine.Invariant, *given: Any, **more: Any) -> list[str]:
        if invariant.name == "order_of_steps":
            error = OperationalError("canceling statement due to statement timeout")
            error.__cause__ = type("Canceled", (Exception,), {"sqlstate": "57014"})()
            raise error
        return real(invariant, *given, **more)

    monkeypatch.setattr(invariant_check, "queries", slow)

    text, code = check()
    assert code == 2
    assert "order_of_steps: not known, it took longer than 120 s. Give a larger --timeout." in text
    assert "34 invariants checked" in text
    facts = json.loads(check("--json")[0])
    assert (facts["holds"], facts["violations"]) == (False, [])
    assert facts["unknown"] == [{"invariant": "order_of_steps", "why": "took longer than 120 s"}]

    Step.objects.filter(process=lively, name="left").update(attempt=7)
    assert check()[1] == 1


@pytest.mark.postgresql
def test_a_statement_has_a_limit_of_its_own(lively, monkeypatch):
    real = invariant_check.queries

    def slow(invariant: engine.Invariant, *given: Any, **more: Any) -> list[str]:
        if invariant.name == "order_of_steps":
            return ["SELECT 'nothing', 'wrong' FROM (SELECT pg_sleep(60)) AS long"]
        return real(invariant, *given, **more)

    monkeypatch.setattr(invariant_check, "queries", slow)

    text, code = check("--timeout", "0.5")

    assert code == 2
    assert "order_of_steps: not known, it took longer than 0.5 s." in text


@pytest.mark.postgresql
def test_the_limit_of_requests_does_not_hold_for_it(lively, monkeypatch):
    asked = ["SELECT 'limit', current_setting('statement_timeout')"]
    monkeypatch.setattr(invariant_check, "queries", lambda *given, **more: asked)
    assert dialect.fetch(asked[0]) == [("limit", "15s")]

    found = [one.wrong for result in invariant_check.check() for one in result.violations]

    assert set(found) == {"2min"}


@pytest.fixture
def order() -> Order:
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    order, _ = place_order(
        Customer("Ann", "ann@example.org", "Street 1"),
        [Line("SKU-1", 2)],
        submission_key="key-1",
        source="shop",
    )
    return order


def ledgers(**services: list[dict[str, Any]]) -> shop.Ledgers:
    return shop.Ledgers({name: services.get(name, []) for name in shop.EFFECTS}, {})


def effect(order: Order, operation: str, amount: str = "19.00") -> dict[str, Any]:
    return {"key": "k", "operation": operation, "order": order.number, "amount": amount}


def test_an_order_with_one_charge_breaks_none(order):
    assert shop.violations(ledgers(payment=[effect(order, "charge")])) == []


@pytest.mark.parametrize(
    ("effects", "broken"),
    [
        (["charge", "charge"], {"effects_happen_once": 1, "money_adds_up": 1}),
        (["charge", "refund"], {}),
        (["charge", "refund", "charge"], {}),
    ],
    ids=["twice", "undone", "undone and done again"],
)
def test_effects_beyond_those_undone_are_found(order, effects, broken):
    found = shop.violations(ledgers(payment=[effect(order, one) for one in effects]))

    assert Counter(violation.invariant for violation in found) == broken


def test_a_wrong_amount_is_found(order):
    found = shop.violations(ledgers(payment=[effect(order, "charge", "18.99")]))

    assert [violation.invariant for violation in found] == ["money_adds_up"]


def test_a_processed_step_without_its_effect_is_found(order):
    Step.objects.filter(name="charge_payment").update(state="processed", result={})

    found = shop.violations(ledgers())

    assert [violation.invariant for violation in found] == ["processed_means_done"]


def test_stock_reserved_twice_is_found(order):
    Step.objects.filter(name="reserve_stock").update(state="processed", result={}, not_before=None)
    for key in ("a", "b"):
        Reservation.objects.create(
            key=key,
            order=order,
            product=Product.objects.get(),
            quantity=2,
            created_at=timezone.now(),
        )

    found = shop.violations(None)

    assert [violation.invariant for violation in found] == ["stock_is_reserved_once"]


def test_a_process_without_its_order_is_found(order):
    order.lines.all().delete()
    order.delete()

    assert [v.invariant for v in shop.violations(None)] == ["order_has_process"]
