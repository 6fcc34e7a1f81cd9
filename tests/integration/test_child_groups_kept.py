"""Child groups are pruned, erased, exported and restored with their parents."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import override_settings

from tests.fleets import BY, born, fails, fleet, state_of, step_of
from tests.toyflow import agents as toy
from workers import Permanent, StateError, resubmit, submit
from workers.client import operations
from workers.definitions import amounts
from workers.models import Alert, Attribute, Child, ChildGroup, Process
from workers.privacy import erase as erasing
from workers.privacy import persons
from workers.rules.approved_acts import Act
from workers.rules.two_persons import GOOD_FOR
from workers.store import old_processes
from workers.store.operate import after_restore
from workers.testing import assert_invariants


@pytest.fixture(autouse=True)
def a_month():
    with override_settings(SAS_KEEP_PROCESSES_DAYS=30):
        yield


def prune():
    for kind in (old_processes.JOURNALS, old_processes.PROCESSES):
        for _ in kind.prune(100):
            pass


def test_children_stay_while_their_parent_may_undo_them_and_go_when_it_goes(wire, clock):
    fails(2, fault=Permanent("broken", "it is broken"))
    process = fleet(4)
    wire.run_until_settled(clock)
    clock.advance(days=4_000)
    prune()
    assert born().count() == 4

    fails()
    resubmit(born().get(state="error").pk, **BY)
    wire.run_until_settled(clock)
    assert state_of(process) == "processed"
    Alert.objects.update(acknowledged_at=clock.now)
    clock.advance(days=4_000)
    Alert.objects.all().delete()
    prune()
    assert list(Process.objects.values_list("subject", "pruned_at", "finished_at")) == []
    assert not ChildGroup.objects.exists()
    assert not Child.objects.exists()
    assert_invariants()


def personal_fleet(count=3):
    items = [{"email": f"ann{n}@example.com", "number": n} for n in range(count)]
    return submit("toy_personal_fleet", subject="Fleet", input={"items": items})


def test_erasing_a_parent_erases_its_children_and_their_items(wire, clock):
    process = personal_fleet()
    wire.run_until_settled(clock)
    erasing.erase(process.pk, **BY)

    assert not born().filter(erased_at=None).exists()
    kept = json.dumps(
        [*Child.objects.values_list("item", flat=True), *born().values_list("input", flat=True)]
    )
    assert "example.com" not in kept


def test_erasing_reaches_children_of_children_and_those_that_were_born_again(wire, clock):
    """The level between declares nothing personal; a child that failed has a second process."""
    fails(1)
    items = [{"items": [{"email": f"ann{n}@example.com", "number": n} for n in (0, 1)]}]
    process = submit("toy_personal_levels", subject="Levels", input={"items": items})
    wire.run_until_settled(clock)
    fails()
    resubmit(Process.objects.get(workflow="toy_fleet_of_persons").pk, **BY)
    wire.run_until_settled(clock)
    assert state_of(process) == "processed"
    persons_of = Process.objects.filter(workflow="toy_personal_child")
    assert persons_of.count() == 3

    erasing.erase(process.pk, **BY)
    assert not persons_of.filter(erased_at=None).exists()
    assert_invariants()


def test_a_child_that_has_not_ended_keeps_all_from_being_erased(wire, clock):
    process = personal_fleet()
    wire.run_until_settled(clock)
    Process.objects.filter(pk=born().last().pk).update(state="error", finished_at=None)
    with pytest.raises(StateError, match="Fleet/2"):
        erasing.erase(process.pk, **BY)
    assert not Process.objects.exclude(erased_at=None).exists()


@pytest.mark.parametrize(
    ("known", "code"), [(3, "two_persons"), (2, "two_persons_unknown")], ids=["known", "unknown"]
)
def test_children_are_erased_with_their_parent_by_two_persons(
    wire, clock, settings, monkeypatch, known, code
):
    """Three children of 100 each, of a parent of 1."""
    settings.SAS_TWO_PERSONS_ABOVE = "300"
    process = personal_fleet()
    wire.run_until_settled(clock)
    worths = {child.pk: Decimal(100) for child in born()[:known]} | {process.pk: Decimal(1)}
    monkeypatch.setattr(
        amounts, "_appraisers", [lambda ids: {i: worths[i] for i in ids if i in worths}]
    )
    with pytest.raises(StateError) as refusal:
        erasing.erase(process.pk, **BY)
    assert refusal.value.code == code
    assert not Process.objects.exclude(erased_at=None).exists()

    request = operations.ask_for_approval(process.pk, Act("erase"), **BY)
    decision = operations.decide_approval(request, is_approved=True, actor="operator:bob")
    assert decision.refusal is None
    assert not Process.objects.filter(erased_at=None).exists()


def test_an_approval_that_is_refused_erases_no_children(wire, clock):
    process = personal_fleet()
    wire.run_until_settled(clock)
    request = operations.ask_for_approval(process.pk, Act("erase"), **BY)
    with pytest.raises(StateError, match="somebody else decides"):
        operations.decide_approval(request, is_approved=True, actor=BY["actor"])
    late = clock.now + GOOD_FOR + timedelta(seconds=1)
    decision = operations.decide_approval(request, is_approved=True, actor="operator:bob", now=late)
    assert decision.refusal is not None
    assert not Process.objects.exclude(erased_at=None).exists()


def test_export_names_items_of_children_that_were_never_born(wire, clock):
    process = personal_fleet()
    Process.objects.filter(pk=process.pk)
    wire.run_until_settled(clock)
    document = json.loads(persons.export("ann1@example.com", actor="operator:ann"))
    assert any(row["subject"] == "Fleet/1" for row in document["processes"])
    assert all(row["children"] == [] for row in document["processes"])


def test_children_that_a_restore_has_lost_are_born_with_the_same_ids(wire, clock):
    fails(4, fault=Permanent("broken", "it is broken"))
    process = fleet(5)
    wire.run_until_settled(clock)
    uids = {child.subject: child.uid for child in born()}
    # As it was before the first birth.
    Child.objects.update(state="queued", outcome=None, process=None)
    Alert.objects.all().delete()
    born().delete()
    ChildGroup.objects.update(born_to=0, processed=0, failed=0, is_flagged=True)
    after_restore.mark([process.pk], clock.now, actor="operator:ann")
    toy.script.clear()
    wire.run_until_settled(clock)

    assert state_of(process) == "processed"
    assert {child.subject: child.uid for child in born()} == uids
    assert step_of(process).result["processed"] == 5
    assert_invariants()


def test_children_take_the_attributes_that_both_declare(wire, clock):
    attributes = {"customer": 7, "plan": "gold"}
    items = [{"number": 1}]
    submit("toy_named_fleet", subject="Fleet", input={"items": items}, attributes=attributes)
    wire.run_until_settled(clock)

    rows = Attribute.objects.filter(process=born().get())
    assert list(rows.values_list("name", "value")) == [("customer", "7")]
