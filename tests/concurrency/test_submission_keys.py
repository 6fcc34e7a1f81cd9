"""Two submissions of one key, and one beside what its first process does: one process a use."""

import threading
import time
from functools import partial

import pytest
from django.db import connections, transaction

from tests.concurrency.racing import race
from tests.integration.conftest import NOW
from workers import AlreadySubmitted, cancel, submit
from workers.models import Process, Step
from workers.store.claims import claim_steps
from workers.store.submit import create_processes
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere

pytestmark = pytest.mark.django_db(transaction=True)

TOY = {"toy.alpha", "toy.beta", "toy.gamma"}


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure()


def keyed(subject="Toy", key="k", **more):
    return submit("toy_line", subject=subject, input={}, submission_key=key, **more)


def in_a_request(**more):
    with transaction.atomic():
        return keyed(**more)


@pytest.mark.parametrize("submission", [keyed, in_a_request])
def test_eight_twins_are_one_process(submission):
    processes = race([submission] * 8)

    assert len({process.pk for process in processes}) == 1
    assert (Process.objects.count(), Step.objects.count()) == (1, 2)


@pytest.mark.parametrize("submission", [keyed, in_a_request])
def test_seven_of_eight_twins_are_refused_and_name_the_first(submission):
    results = race([partial(submission, on_conflict="refuse")] * 8)

    (first,) = [result for result in results if isinstance(result, Process)]
    refused = [result for result in results if isinstance(result, AlreadySubmitted)]
    assert [refusal.process for refusal in refused] == [first] * 7
    assert Process.objects.count() == 1


def test_eight_replacements_leave_the_one_that_came_last():
    keyed("First")
    race([partial(keyed, on_conflict="replace")] * 8)

    states = list(Process.objects.order_by("id").values_list("state", "key_use"))
    assert states == [*(("cancelled", use) for use in range(1, 9)), ("pending", 9)]


@pytest.mark.postgresql
@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_second_waits_for_the_end_of_the_firsts_transaction_and_no_longer(ends):
    written, may_end = threading.Event(), threading.Event()

    def first():
        try:
            with transaction.atomic():
                process = keyed("First")
                written.set()
                may_end.wait(10)
                if ends == "rollback":
                    raise ZeroDivisionError
            return process.pk
        finally:
            connections.close_all()

    def second():
        written.wait(10)
        waiting = threading.Timer(0.5, may_end.set)
        waiting.start()
        began = time.monotonic()
        with transaction.atomic():
            # Another key is not held up.
            keyed("Other", key="other")
            assert not may_end.is_set()
            process = keyed("Second")
        return process.subject, process.pk, time.monotonic() - began

    first_pk, (subject, pk, seconds) = race([first, second])

    assert 0.3 < seconds < 5
    if ends == "commit":
        assert (subject, pk) == ("First", first_pk)
    else:
        assert (subject, type(first_pk)) == ("Second", ZeroDivisionError)
    assert Process.objects.count() == 2


def test_replacement_and_claim_never_both_succeed():
    for n in range(15):
        first = keyed("First", key=f"k{n}")
        verbs = [
            partial(keyed, "Second", key=f"k{n}", on_conflict="replace"),
            partial(claim_steps.claim_due, TOY, anywhere(), NOW.replace(year=2100)),
        ]
        second, claims = race(verbs[:: 1 if n % 2 else -1])[:: 1 if n % 2 else -1]
        is_claimed = any(claim.process_id == first.pk for claim in claims)
        state = Process.objects.get(pk=first.pk).state
        assert (second.pk == first.pk, state) == (
            (True, "processing") if is_claimed else (False, "cancelled")
        )
        Process.objects.exclude(state="cancelled").update(paused_at=NOW)


@pytest.mark.postgresql
def test_replacement_waits_for_a_claim_that_came_first(monkeypatch):
    first = keyed("First")
    seen, real = threading.Event(), create_processes.load.lock
    looked = []

    def claim():
        with transaction.atomic():
            claims = claim_steps.claim_due(TOY, anywhere(), NOW.replace(year=2100))
            seen.set()
            time.sleep(0.5)
        return len(claims)

    def replace():
        seen.wait(10)
        # Its look sees nothing of the claim, which is not committed: the lock decides.
        return keyed("Second", on_conflict="replace")

    monkeypatch.setattr(
        create_processes.load, "lock", lambda ids, *a, **k: looked.append(1) or real(ids, *a, **k)
    )
    count, second = race([claim, replace])

    assert (count, second.pk, second.state) == (1, first.pk, "processing")
    assert len(looked) >= 2


def test_end_and_submission_leave_one_open_process_at_most():
    for n in range(10):
        first = keyed("First", key=f"k{n}")
        _, second = race(
            [
                partial(cancel, first.pk, actor="ann", reason="enough"),
                partial(keyed, "Second", key=f"k{n}"),
            ]
        )
        assert second.pk == first.pk or second.key_use == 2
        uses = Process.objects.filter(submission_key=f"k{n}").order_by("id")
        assert list(uses.values_list("state", flat=True)) in (
            ["cancelled"],
            ["cancelled", "pending"],
        )
