"""Attributes: what an application knows its processes by, from submission to erasure."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from workers import (
    NewProcess,
    UnknownWorkflow,
    Workflow,
    WorkflowError,
    processes,
    register_workflow,
    status,
    step,
    submit,
    submit_many,
)
from workers.definitions import registry
from workers.models import Attribute, Process
from workers.privacy import erase, persons
from workers.store import old_processes, personal_data

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


def test_processes_are_found_by_all_their_attributes_the_newest_first():
    first, second = named("A", customer=7, plan="pro"), named("B", customer=7, plan="free")
    named("C", customer=8, plan="pro")

    assert processes(customer=7) == [second, first]
    assert processes("toy_named", customer=7, plan="pro", state="pending") == [first]
    assert processes(customer=7, state="error") == processes(customer=9) == []
    assert [row.subject for row in processes("toy_named")] == ["C", "B", "A"]
    assert processes(customer=7)[0].get_deferred_fields() == {"input"}


def test_pages_go_on_after_the_last_process_whatever_comes_and_goes_meanwhile():
    rows = [named(str(n), customer=7) for n in range(5)]
    page = processes(customer=7, limit=2)
    named("new", customer=7)
    page[-1].attributes.all().delete()

    following = processes(customer=7, limit=2, after=page[-1].pk)
    last = processes(customer=7, limit=2, after=following[-1].pk)
    assert [row.pk for row in (*page, *following, *last)] == [row.pk for row in reversed(rows)]
    assert processes(customer=7, after=last[-1].pk) == []


@pytest.mark.parametrize(
    ("wanted", "error", "says"),
    [
        ({"custmer": 7}, ValueError, "got 'custmer'; declared are customer, email, plan."),
        ({"customer": "7"}, TypeError, "attribute customer must be int, got '7'."),
        ({"state": "running"}, ValueError, "state must be one of pending, processing"),
        ({"limit": 0}, ValueError, "limit must be 1 to 1,000, got 0. Read pages, by after=."),
        ({"limit": 1001}, ValueError, "limit must be 1 to 1,000, got 1001."),
        ({"after": "7"}, TypeError, "after must be the id of a process, got '7'."),
        ({"workflow": "toy_nmed"}, UnknownWorkflow, "or use toy_named"),
    ],
)
def test_bad_search_is_refused_with_what_is_known(wanted, error, says):
    with pytest.raises(error, match=says):
        processes(**{"workflow": "toy_named"} | wanted)


def test_status_shows_attributes_with_their_types():
    assert status(named(customer=7, plan="pro").pk).attributes == {"customer": 7, "plan": "pro"}


def test_status_of_workflow_without_attributes_reads_none():
    process = submit("toy_line", subject="T", input={})
    with CaptureQueriesContext(connection) as queries:
        assert status(process.pk).attributes == {}
    assert not [query for query in queries if "workers_attribute" in query["sql"]]


def test_attribute_of_unknown_workflow_is_a_text(monkeypatch):
    process = named(customer=7)
    others = {key: w for key, w in registry._workflows.items() if "customer" not in w.attributes}
    monkeypatch.setattr(registry, "_workflows", others)
    assert status(process.pk).attributes == {"customer": "7"}


def test_name_has_one_type_whatever_workflow_declares_it():
    steps = (step("one", "toy.alpha"),)
    says = r"attribute customer must be int as in toy_named\w* version 1, got str. Call it"
    with pytest.raises(WorkflowError, match=says):
        register_workflow(Workflow("toy_other", 1, steps, attributes={"customer": str}))
    assert not registry.has_workflow("toy_other", 1)


def test_text_that_repeats_a_personal_attribute_is_masked():
    process = named(customer=7, email="Zelda Quux")
    text = "card of Zelda Quux refused for customer 7"
    masked = "card of Z*** refused for customer 7"

    assert personal_data.of_process(process).text(text) == masked
    assert personal_data.of_processes([process.pk])[process.pk].text(text) == masked


def test_masks_read_no_attributes_where_none_are_personal():
    process = submit("toy_line", subject="T", input={})
    with CaptureQueriesContext(connection) as queries:
        personal_data.of_process(process)
        personal_data.of_processes([process.pk])
    assert not [query for query in queries if "workers_attribute" in query["sql"]]
