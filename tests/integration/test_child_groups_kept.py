"""Child groups are pruned, erased, exported and restored with their parents."""

import json

import pytest
from django.test import override_settings

from tests.fleets import BY, born, fails, fleet, state_of, step_of
from tests.toyflow import agents as toy
from workers import Permanent, resubmit, submit
from workers.models import Alert, Attribute, Child, ChildGroup, Process
from workers.privacy import erase as erasing
from workers.privacy import persons
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
