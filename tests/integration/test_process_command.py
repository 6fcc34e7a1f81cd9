"""`manage.py sas process list` and `submit`: a workflow is tried without a line of code."""

import json
from functools import partial

import pytest
from django.core.management import CommandError

from tests.programs import said
from workers.client.submission import submit
from workers.models import Journal, Process

process = partial(said, "sas", "process")


def test_what_is_submitted_is_printed_and_runs(wire):
    number = int(process("submit", "toy_line", "--subject", "Toy 1", "--input", '{"a": 1}'))

    wire.run_until_idle()
    row = Process.objects.get()
    assert (row.pk, row.subject, row.input) == (number, "Toy 1", {"a": 1})
    assert row.state == "processed"
    first = Journal.objects.filter(process=row).order_by("pk").first()
    assert first is not None
    assert first.actor.startswith("operator:")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing", "--subject", "Toy 1"), "nothing"),
        (("toy_line", "--subject", " "), "subject"),
        (("toy_line", "--subject", "Toy 1", "--input", "[]"), "--input: it must be a JSON object"),
        (("toy_line", "--subject", "Toy 1", "--input", "{"), "--input: '{' is no JSON"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_made(words, says):
    with pytest.raises(CommandError, match=says):
        process("submit", *words)

    assert not Process.objects.exists()


def test_the_newest_come_first_and_a_state_or_workflow_chooses(wire):
    done = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    other = submit("toy_undoable", subject="Toy 2", input={})

    def listed(*words: str) -> list[int]:
        return [
            row["process"] for row in json.loads(process("list", "--json", *words))["processes"]
        ]

    assert listed() == [other.pk, done.pk]
    assert listed("--limit", "1") == [other.pk]
    assert listed("--state", "processed") == [done.pk]
    assert listed("--workflow", "toy_undoable") == [other.pk]
    assert f"{done.pk:<8}processed" in process("list")
    assert process("list").endswith("2 processes.\n")


def test_a_limit_below_one_is_refused():
    with pytest.raises(CommandError, match="--limit must be 1 to 1,000, got 0"):
        process("list", "--limit", "0")


def test_processes_are_submitted_with_attributes_and_listed_by_them():
    given = ("--attribute", "customer=7", "--attribute", "email=ann@example.org")
    number = int(process("submit", "toy_named", "--subject", "Bill 1", *given))
    other = int(process("submit", "toy_named", "--subject", "Bill 2", "--attribute", "customer=8"))

    def listed(*words):
        return json.loads(process("list", "--json", *words))["processes"]

    [row] = listed("--where", "customer=7", "--state", "pending")
    masked = {"customer": "7", "email": "a***@example.org"}
    assert (row["process"], row["attributes"]) == (number, masked)
    assert [row["process"] for row in listed("--after", str(other))] == [number]
    assert listed("--where", "customer=7", "--where", "email=bob@example.org") == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("list", "--where", "customer"), "must be NAME=VALUE, got 'customer'"),
        (("list", "--where", "custmer=7"), "got 'custmer'; declared are .*customer"),
        (("list", "--where", "customer=x"), "attribute customer must be int, got 'x'"),
        (("list", "--where", "plan=a", "--where", "plan=b"), "plan must be given once, got 'b'"),
        (("list", "--workflow", "toy_nmed"), "or use toy_named"),
        (("submit", "toy_line", "--subject", "T", "--attribute", "plan=a"), "declared are none"),
    ],
)
def test_wrong_attribute_is_refused_by_name(words, says):
    with pytest.raises(CommandError, match=says):
        process(*words)

    assert not Process.objects.exists()
