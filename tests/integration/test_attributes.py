"""Attributes: what an application knows its processes by, from submission to erasure."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from workers import NewProcess, submit, submit_many
from workers.models import Attribute, Process
from workers.privacy import erase, persons
from workers.store import old_processes

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = "ann@example.org"


def named(subject="Toy", given=None, **attributes):
    return submit("toy_named", subject=subject, input=given or {}, attributes=attributes)


def attributes_of(process):
    return dict(Attribute.objects.filter(process=process).values_list("name", "value"))


def end(process, at=NOW):
    """End a process in the state processed."""
    process.steps.update(state="processed", result={}, finished_at=at)
    Process.objects.filter(pk=process.pk).update(state="processed", finished_at=at)


def test_attributes_are_rows_of_their_process():
    process = named(customer=7, plan="pro")

    assert attributes_of(process) == {"customer": "7", "plan": "pro"}


def test_many_are_written_in_one_statement_and_none_without_attributes():
    def statements(wanted, workflow="toy_named"):
        with CaptureQueriesContext(connection) as queries:
            submit_many(workflow, wanted, now=NOW)
        return [query["sql"] for query in queries if "workers_attribute" in query["sql"]]

    given = [NewProcess("T", {}, attributes={"customer": n, "plan": "p"}) for n in range(9)]
    assert len(statements(given)) == 1
    assert statements([NewProcess("T", {})]) == statements([NewProcess("T", {})], "toy_line") == []
    assert Attribute.objects.count() == 18


def test_wrong_attribute_of_one_leaves_none_and_the_transaction_usable():
    wanted = [
        NewProcess("A", {}, attributes={"customer": 7}),
        NewProcess("B", {}, attributes={"customer": "8"}),
    ]
    with transaction.atomic():
        with pytest.raises(TypeError, match="attribute customer must be int, got '8'"):
            submit_many("toy_named", wanted)
        assert (Process.objects.count(), Attribute.objects.count()) == (0, 0)


def test_second_submission_of_a_key_leaves_the_attributes_of_the_first():
    first = submit(
        "toy_named", subject="A", input={}, submission_key="k", attributes={"customer": 1}
    )
    submit("toy_named", subject="B", input={}, submission_key="k", attributes={"customer": 2})

    assert attributes_of(first) == {"customer": "1"}
    assert Attribute.objects.count() == 1


def test_attributes_go_with_their_pruned_process(settings):
    settings.SAS_KEEP_JOURNAL_DAYS = settings.SAS_KEEP_PROCESSES_DAYS = 30
    old, new = named(customer=7), named(customer=8)
    end(old), end(new, NOW + timedelta(days=50))
    for duty in (old_processes.JOURNALS, old_processes.PROCESSES):
        list(duty.prune(10, NOW + timedelta(days=60)))

    assert list(Attribute.objects.values_list("process", "value")) == [(new.pk, "8")]


def test_erased_person_is_not_found_by_an_attribute():
    process = named(given={"name": "Ann Example"}, customer=7, plan="Ann Example", email=ANN)
    end(process)
    erase.erase(process.pk, actor="operator:ann", reason="asked by post")

    assert attributes_of(process) == {"customer": "7"}


def test_personal_attribute_is_erased_from_every_text_of_its_process():
    process = named(f"Bill of {ANN}", email=ANN)
    end(process)
    erase.erase(process.pk, actor="operator:ann", reason="asked by post")

    process.refresh_from_db()
    assert process.subject == "Bill of ***"


def test_person_is_found_and_exported_by_an_attribute_alone():
    process = named(customer=7, email=ANN.upper())
    named(customer=8, email=f"jo{ANN}")

    assert persons.find(ANN) == [process.pk]
    exported = persons.export(ANN, actor="operator:ann")
    assert '"attributes": {"customer": "7", "email": "ANN@EXAMPLE.ORG"}' in exported
