"""The log has a line for each attempt that failed and each process that ended otherwise."""

import logging

import pytest
from django.db import transaction

from tests.toyflow import agents as toy
from workers.client import operations
from workers.client.submission import submit
from workers.exceptions import Permanent, Transient
from workers.testing import pass_time

pytestmark = pytest.mark.django_db(transaction=True)
FIELDS = ("subject", "trace", "step", "agent", "attempt", "how", "code", "next", "state")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, object]]]:
    return [
        (one.message, {name: vars(one)[name] for name in FIELDS if name in vars(one)})
        for one in caplog.records
        if one.name == "workers.store.locked.log_lines"
    ]


def test_each_failed_attempt_and_the_end_in_error_has_its_line(wire, caplog):
    faults = [Transient("http_500", "Ann Lovelace is busy"), Permanent("no", "never")]

    def fail(_call: object) -> None:
        raise faults.pop(0)

    toy.script["toy.alpha"] = fail
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    pass_time(60)
    wire.run_until_idle()

    about = {"subject": "Toy 1", "trace": process.uid.hex}
    step = {**about, "step": "one", "agent": "toy.alpha"}
    assert lines(caplog) == [
        (
            "attempt_failed",
            {**step, "attempt": 1, "how": "failed", "code": "http_500", "next": "pending"},
        ),
        ("attempt_failed", {**step, "attempt": 2, "how": "refused", "code": "no", "next": "error"}),
        ("process_ended", {**about, "state": "error"}),
    ]
    record = next(one for one in caplog.records if one.message == "process_ended")
    assert (record.levelno, vars(record)["process_id"]) == (logging.WARNING, process.pk)
    # What a service says may be about a person.
    assert "Lovelace" not in caplog.text


def test_an_order_that_goes_well_has_none(wire, caplog):
    submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    assert lines(caplog) == []


def test_what_is_rolled_back_is_not_logged(wire, caplog):
    process = submit("toy_line", subject="Toy 1", input={})

    with transaction.atomic():
        operations.undo(process.pk, outcome="cancelled", actor="operator:ann", reason="why")
        transaction.set_rollback(True)
    assert lines(caplog) == []

    operations.undo(process.pk, outcome="cancelled", actor="operator:ann", reason="why")
    wire.run_until_idle()
    about = {"subject": "Toy 1", "trace": process.uid.hex}
    assert lines(caplog) == [("process_ended", {**about, "state": "cancelled"})]
