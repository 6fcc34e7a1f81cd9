"""Settling: one transaction from replies to the next claims."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from msgspec import structs

from tests.integration.conftest import NOW, claim, only
from workers.client.submission import submit
from workers.models import Alert, Hold, Journal, Process, Step
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps, request_data
from workers.store.claims.claim_steps import Claim
from workers.store.locked.contexts import Context
from workers.store.settle import filed_replies, settle_replies
from workers.store.settle.settle_replies import SettleResult
from workers.testing.agent_processes import room as anywhere

Toy = Callable[..., Process]


def a_result(found: Claim, **result: object) -> Reply:
    return Reply(found.step_id, found.claim_id, found.attempt, result=dict(result))


def a_fault(found: Claim, kind: str, **more: Any) -> Reply:
    fault = FaultRecord(kind, "x", "no", **more)
    return Reply(found.step_id, found.claim_id, found.attempt, fault=fault)


def started() -> Claim:
    return claim()[0]


def settle(replies: Sequence[Reply], now: datetime = NOW) -> SettleResult:
    """Settle replies in a process with room for any calls."""
    return settle_replies.apply(replies, "scheduler", now, own_room=anywhere())


def test_a_result_settles_its_step_and_claims_the_next(toy):
    process = toy()

    settled = settle([a_result(started(), n=1)])

    assert (settled.applied, settled.stale) == (1, 0)
    assert [c.step for c in settled.claims] == ["two"]
    one, two = only(process, "one"), only(process, "two")
    assert (one.state, one.result, one.claim_id, one.finished_at) == (
        "processed",
        {"n": 1},
        None,
        NOW,
    )
    assert (two.state, two.claim_id) == ("processing", settled.claims[0].claim_id)


def test_lone_reply_claims_undo_step_whose_flow_row_was_not_predicted(toy):
    process = toy("toy_heard")
    (second,) = settle([a_result(started())]).claims

    settled = settle([a_fault(second, "refused")])

    # The agent of an undo step that was planned just now.
    assert (settled.applied, settled.stale) == (1, 0)
    assert [claim.undoes_id for claim in settled.claims] == [only(process, "one").pk]


def test_a_step_that_falls_back_waits_for_its_new_agent(toy):
    process = toy("toy_fallback")

    refusal = a_fault(started(), "permanent", no_effect=True)
    settled = settle([refusal])

    assert (settled.claims, settled.waited_for) == ([], {"toy.beta"})
    (claimed,) = claim_steps.claim_due(settled.waited_for, anywhere(), NOW)
    assert (claimed.step, claimed.agent) == ("ship", "toy.beta")
    events = Journal.objects.filter(process=process).order_by("pk").values_list("event", flat=True)
    assert list(events) == ["submitted", "started", "claimed", "refused", "fell_back", "claimed"]


def test_a_filed_reply_that_another_scheduler_has_settled_since_is_no_late_one(toy):
    process = toy()
    reply = a_result(started(), n=1)
    settle([reply])
    told = list(Journal.objects.values_list("pk", flat=True))

    settled = settle_replies.apply([structs.replace(reply, is_filed=True)], "scheduler", NOW)

    assert (settled.applied, settled.stale, settled.claims) == (0, 0, [])
    assert list(Journal.objects.values_list("pk", flat=True)) == told
    assert only(process, "one").result == {"n": 1}


def test_claims_bring_along_what_their_requests_are_built_from(toy, django_assert_num_queries):
    toy(colour="red")
    (first,) = claim()

    (second,) = settle([a_result(first, n=1)]).claims

    with django_assert_num_queries(0):
        found = request_data.material([first, second]), request_data.material([first])
    given = Context("toy_line", 1, "Toy 1", {"colour": "red"}, {"one": {"n": 1}})
    assert found[0].contexts == {second.process_id: given}
    assert found[1].contexts == {first.process_id: replace(given, results={})}


def test_a_claim_that_is_printed_shows_nothing_of_what_was_read_along(toy):
    toy(colour="red")
    (first,) = claim()
    (second,) = settle([a_result(first, n=1)]).claims

    assert request_data.material([second]).contexts[second.process_id].input == {"colour": "red"}
    assert repr(second) == f"Claim({second.step_id}, {second.claim_id}, 'two', attempt 1)"


def test_what_a_claim_did_not_bring_along_is_read(toy):
    process = toy(colour="red")
    (found,) = claim()

    bare = structs.replace(found, owner=None)

    assert request_data.material([bare]) == request_data.material([found])
    assert list(request_data.material([bare]).contexts) == [process.pk]


@pytest.mark.parametrize("result", [{"zz": 1e22, "b": 100.0}, {"b": 2, "a": {"z": 1, "y": 2}}])
def test_a_claim_brings_results_along_as_the_database_has_them(toy, result):
    """A repeated attempt reads them, and must send the same to the last sign."""
    process = toy()

    found = settle([a_result(started(), **result)]).claims

    brought = request_data.material(found).contexts[process.pk]
    anew = request_data.material([structs.replace(found[0], owner=None)]).contexts[process.pk]
    assert brought.results == {"one": result}
    assert json.dumps(brought.results) == json.dumps(anew.results)


@pytest.mark.parametrize("place", ["input", "result"])
def test_what_is_too_large_to_come_along_is_read(toy, place, django_assert_num_queries):
    # Of random signs, for PostgreSQL goes by what is left when it has pressed them.
    large = {"signs": Random(7).randbytes(2000).hex()}
    process = toy(**(large if place == "input" else {}))
    reply = a_result(started(), **(large if place == "result" else {}))

    found = settle([reply]).claims

    with django_assert_num_queries(2):
        context = request_data.material(found).contexts[process.pk]
    assert context.input == (large if place == "input" else {})
    assert context.results == {"one": large if place == "result" else {}}


def test_a_large_result_comes_back_where_it_was_read_before_the_next_step(toy):
    process = toy("toy_diamond")
    large = {"signs": Random(7).randbytes(2000).hex()}
    taken = settle([a_result(started(), **large)]).claims

    (last,) = settle([a_result(one, n=1) for one in taken]).claims

    context = request_data.material([last]).contexts[process.pk]
    assert context.results == {"top": large, "left": {"n": 1}, "right": {"n": 1}}


@pytest.mark.fault("F7")
def test_a_repeated_reply_changes_nothing_and_is_journalled_once(toy):
    process = toy()
    reply = a_result(started())
    settle([reply])
    before = list(Step.objects.filter(process=process).values())

    for _ in range(3):
        settled = settle([reply])
        assert (settled.applied, settled.stale, settled.claims) == (0, 1, [])

    assert list(Step.objects.filter(process=process).values()) == before
    assert Journal.objects.filter(event="stale_reply").count() == 1


def test_a_reply_twice_in_one_batch_is_applied_once(toy):
    toy()
    reply = a_result(started())

    settled = settle([reply, reply])

    assert (settled.applied, settled.stale) == (1, 1)


def test_a_reply_of_an_unknown_step_is_only_counted(toy):
    toy()

    settled = settle([Reply(10**9, uuid4(), 1, result={})])

    assert (settled.applied, settled.stale) == (0, 1)
    assert not Journal.objects.filter(event="stale_reply").exists()


def test_one_bad_reply_of_a_batch_leaves_the_others_alone():
    for number in range(3):
        submit("toy_line", subject=f"Toy {number}", input={}, now=NOW)
    found = claim()
    batch = [a_result(found[0]), a_fault(found[1], "permanent"), a_result(found[2])]

    settled = settle([*batch, Reply(10**9, uuid4(), 1, result={})])

    assert (settled.applied, settled.stale, len(settled.claims)) == (3, 1, 2)
    states = Process.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["processing", "error", "processing"]


def test_branches_settled_in_one_batch_join_once(toy):
    process = toy("toy_diamond")
    first = settle([a_result(started())])

    settled = settle([a_result(c) for c in first.claims])

    assert [c.step for c in settled.claims] == ["bottom"]
    assert only(process, "bottom").attempt == 1


def test_ready_steps_queue_behind_those_that_wait_already():
    for number in range(5):
        submit("toy_narrow", subject=f"Toy {number}", input={}, now=NOW)
    found = claim()

    settled = settle([a_result(found[0])])

    # Room for one came free, and a waiting step of another process has it.
    assert settled.claims == []
    (taken,) = claim_steps.claim_due(settled.waited_for, anywhere(), NOW)
    assert taken.process_id not in {c.process_id for c in found}


#: Ways in which a pending step of the name "held" is one that nobody may claim.
STAND_STILL: dict[str, Callable[[Step], Any]] = {
    "paused": lambda step: Process.objects.filter(pk=step.process_id).update(paused_at=NOW),
    "in error": lambda step: Process.objects.filter(pk=step.process_id).update(state="error"),
    "undone": lambda step: Process.objects.filter(pk=step.process_id).update(state="compensating"),
    "held": lambda step: Hold.objects.create(kind="step", name="held", reason="", began_at=NOW),
}


@pytest.mark.parametrize("how", STAND_STILL)
def test_ready_step_does_not_queue_behind_unclaimable_step(how, toy):
    """They would wait for the next poll each."""
    still, process = toy(), toy()
    claims = {one.process_id: one for one in claim()}
    Step.objects.filter(process=still, name="two").update(
        state="pending", not_before=NOW, name="held"
    )
    STAND_STILL[how](Step.objects.get(process=still, name="held"))

    settled = settle([a_result(claims[process.pk])])

    assert [(one.process_id, one.step) for one in settled.claims] == [(process.pk, "two")]
    assert Step.objects.get(process=still, name="held").state == "pending"


@pytest.mark.parametrize("how", STAND_STILL)
def test_unclaimable_step_takes_no_place_in_claim_batch(how, toy, settings):
    settings.SAS_CLAIM_BATCH = 1
    still, process = toy(), toy()
    Step.objects.filter(process=still, name="one").update(
        not_before=NOW - timedelta(hours=1), name="held"
    )
    STAND_STILL[how](Step.objects.get(process=still, name="held"))

    assert [taken.process_id for taken in claim()] == [process.pk]


@pytest.mark.fault("F24")
def test_a_permanent_fault_is_an_error_with_one_alert(toy):
    process = toy()

    settle([a_fault(started(), "permanent")])

    process.refresh_from_db()
    assert (process.state, only(process, "one").state) == ("error", "error")
    assert list(Alert.objects.values_list("code", "times")) == [("process_error", 1)]
    assert claim(NOW + timedelta(days=1)) == []


def test_a_filed_reply_is_settled_from_its_row(toy):
    process = toy()
    found = started()
    assert filed_replies.file(a_result(found, n=2), "agent@test", NOW)

    (filed,) = filed_replies.filed(10)
    settled = settle_replies.apply([filed], "scheduler", NOW)

    assert settled.applied == 1
    one = only(process, "one")
    assert (one.state, one.result, one.reply) == ("processed", {"n": 2}, None)
    assert filed_replies.filed(10) == []


@pytest.mark.fault("F8")
def test_a_reply_past_its_deadline_is_not_filed(toy):
    process = toy()
    found = started()
    before = Step.objects.filter(process=process).values().get(name="one")

    assert not filed_replies.file(a_result(found), "agent@test", NOW + timedelta(seconds=30))

    assert Step.objects.filter(process=process).values().get(name="one") == before
    assert not Journal.objects.filter(event="reply_filed").exists()


@pytest.mark.fault("F9")
def test_a_reply_of_a_superseded_claim_is_not_filed(toy):
    toy()
    found = started()

    reply = Reply(found.step_id, uuid4(), found.attempt, result={})
    assert not filed_replies.file(reply, "agent@test", NOW)


def test_a_second_reply_is_not_filed_over_the_first(toy):
    process = toy()
    found = started()
    filed_replies.file(a_result(found, n=1), "agent@test", NOW)

    assert not filed_replies.file(a_result(found, n=2), "agent@test", NOW)

    assert only(process, "one").reply["result"] == {"n": 1}
