"""What is written from one reading twice is refused: no number and no attempt is given out twice.

The process lock keeps two sessions from reading alike; these tests do without it.
"""

from collections.abc import Callable
from copy import deepcopy
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError

from tests.integration.conftest import NOW, claim, only
from tests.integration.test_store_settling import a_result, started
from workers.models import Journal, Process
from workers.protocol.messages import Reply
from workers.rules import apply_reply
from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db.transactions import LostRow
from workers.store.locked import load
from workers.store.settle import settle_replies

Decision = Callable[[LockedProcess], None]


def read_twice(process: Process, first: Decision, second: Decision) -> None:
    """Carry out two decisions, each on the same reading of a process."""
    with durable("test.read_twice"):
        (locked,) = load.lock([process.pk], NOW)
        stale = deepcopy(locked)
        first(locked)
        load.write([locked])
        second(stale)
        load.write([stale])


def tell(locked: LockedProcess) -> None:
    locked.note("reminded", "ann", public=True)


def take(locked: LockedProcess) -> None:
    locked.claim(locked.steps[0], "agent@test", uuid4())


def take_and_give_back(locked: LockedProcess) -> None:
    take(locked)
    locked.release(locked.steps[0], "handed_back", "scheduler")


def end(claim_id: UUID) -> Decision:
    def decide(locked: LockedProcess) -> None:
        step = locked.steps[0]
        reply = Reply(step.id, claim_id, step.attempt, result={})
        assert apply_reply.apply_reply(locked, reply, "scheduler")

    return decide


def test_a_number_is_given_out_once(toy):
    process = toy()

    with pytest.raises(LostRow):
        read_twice(process, tell, tell)

    assert Journal.objects.filter(process=process, event="reminded").count() == 0


def test_a_step_is_claimed_once(toy):
    process = toy()

    with pytest.raises(LostRow):
        read_twice(process, take, take)


def test_an_attempt_is_given_out_once_though_its_step_waits_as_before(toy):
    process = toy()
    # Processing already, so that its own row refuses nothing.
    claim()
    with durable("test"):
        (locked,) = load.lock([process.pk], NOW)
        locked.release(locked.steps[0], "handed_back", "scheduler")
        load.write([locked])

    with pytest.raises(LostRow):
        read_twice(process, take_and_give_back, take)


def test_a_claim_ends_once(toy):
    process = toy()
    held = started()

    with pytest.raises(LostRow):
        read_twice(process, end(held.claim_id), end(held.claim_id))

    settled = settle_replies.apply([a_result(held)], "scheduler", NOW)
    assert settled.applied == 1
    assert Journal.objects.filter(step=only(process, "one"), event="processed").count() == 1


def test_what_moves_nothing_is_in_the_journal_once_per_attempt(toy):
    process = toy()
    step = only(process, "one")
    entry = Entry(process.pk, "reply_filed", "agent", step_id=step.pk, attempt=1)
    with durable("test"):
        journal.write([entry], NOW)

        assert journal.write_once([entry], NOW) == 0
    with pytest.raises(IntegrityError), durable("test"):
        journal.write([entry], NOW)
