"""What a look for due steps takes: what is due, in its turn, as there is room, and once."""

from datetime import timedelta
from random import Random

import pytest
from django.db import transaction
from django.test import override_settings

from tests.concurrency.matrix.pausing import meet
from tests.concurrency.test_lock_order import waiting_for
from tests.factories import put
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_store_settling import a_fault, a_result
from workers.client.submission import submit
from workers.definitions import registry
from workers.models import Flow, Hold, Process, Sink, Step
from workers.rules.rows import NewSink
from workers.store.claims import claim_steps, request_data
from workers.store.db import dialect
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere

LATER = NOW + timedelta(seconds=70)


def every_agent() -> set[str]:
    return {agent.name for agent in registry.agents()}


def look(agents: set[str] | None = None) -> claim_steps.ClaimBatch:
    return claim_steps.claim_due(agents or every_agent(), anywhere(), NOW)


@pytest.mark.parametrize(
    ("room", "batch"), [(1, 200), (3, 200), (4, 200), (200, 3), (200, 4), (200, 5)]
)
def test_look_takes_claims_up_to_room_and_says_if_cut_off(room, batch, toy):
    processes = [toy() for _ in range(4)]
    Flow.objects.filter(agent="toy.alpha").update(window=room)

    with override_settings(SAS_CLAIM_BATCH=batch):
        taken = look({"toy.alpha"})

    most = min(room, batch)
    assert [claim.process_id for claim in taken] == [row.pk for row in processes[:most]]
    # Not where the services have no more room.
    assert taken.is_cut_off == (batch <= 4)


def test_where_there_is_no_room_nothing_is_taken_and_no_further_look_helps(toy):
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    toy()
    assert len(look()) == 1
    waiting = toy()

    taken = look()

    assert (taken, taken.is_to_go_on) == ([], False)
    assert only(waiting, "one").state == "pending"


def test_an_agent_without_room_has_no_other_looked_at_again(toy):
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    toy()
    look()
    toy()
    Step.objects.filter(process=toy(), name="one").update(agent="toy.beta")

    taken = look()

    assert ([claim.agent for claim in taken], taken.is_to_go_on) == (["toy.beta"], False)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: Hold.objects.create(kind="everything", reason="", began_at=NOW),
        lambda row: Hold.objects.create(kind="agent", name=row.agent, reason="", began_at=NOW),
        lambda row: Hold.objects.create(kind="step", name=row.name, reason="", began_at=NOW),
        lambda row: Flow.objects.update(unavailable_streak=9, opened_at=NOW, open_until=LATER),
        lambda row: Flow.objects.update(forced="open"),
        lambda row: Flow.objects.update(rate_per_second=1, tokens=0, refilled_at=NOW),
        lambda row: Process.objects.update(paused_at=NOW),
        lambda row: Process.objects.update(state="error"),
        lambda row: Process.objects.update(state="compensating"),
        lambda row: Step.objects.filter(pk=row.pk).update(not_before=LATER),
        lambda row: Step.objects.filter(pk=row.pk).update(agent="toy.of.nobody"),
    ],
    ids=[
        *("everything held", "agent held", "step held", "breaker open", "forced", "rate used up"),
        *("paused", "in error", "compensating", "not yet", "no flow row"),
    ],
)
def test_what_may_not_be_claimed_is_left_as_it_was(change, toy):
    process = toy()
    change(only(process, "one"))
    before = Step.objects.values().get(process=process, name="one")

    assert look(every_agent() | {"toy.of.nobody"}) == []

    assert Step.objects.values().get(process=process, name="one") == before


def test_two_steps_of_one_order_begin_it_once(toy):
    process = submit(
        "toy_parallel", subject="Told", input={}, sinks=[NewSink("queue", "a")], now=NOW
    )

    taken = look()

    assert sorted(claim.step for claim in taken) == ["a", "b"]
    assert taken.has_news
    journal = list(process.journal.order_by("pk").values_list("event", "sequence"))
    assert sorted(journal) == [
        ("claimed", None),
        ("claimed", None),
        ("started", 2),
        ("submitted", 1),
    ]
    assert Sink.objects.get().last == Process.objects.get().sequence == 2
    assert not look().has_news


def test_who_asked_for_no_word_gets_none(toy):
    toy()

    assert not look().has_news


@pytest.mark.parametrize("place", ["input", "result"])
def test_what_is_too_large_to_come_along_is_read_for_the_request(place, toy):
    # Of random signs, for PostgreSQL goes by what is left when it has pressed them.
    large = {"signs": Random(7).randbytes(2000).hex()}
    process = toy(**(large if place == "input" else {"n": 1}))
    (one,) = claim()
    settle_replies.apply([a_result(one, **(large if place == "result" else {"n": 2}))], "s", NOW)

    taken = look()

    context = request_data.material(taken).contexts[process.pk]
    assert (context.input if place == "input" else context.results["one"]) == large


def test_a_step_that_failed_before_comes_with_its_failures(toy):
    toy()
    (one,) = claim()
    settle_replies.apply([a_fault(one, "transient")], "s", NOW)
    Step.objects.update(began_at=None, not_before=NOW)

    (again,) = look()

    assert (again.attempt, again.is_alone, again.in_doubt) == (2, False, True)
    assert again.claim_id != one.claim_id


def test_a_claim_leaves_when_the_order_began(toy):
    toy()
    Process.objects.update(state="processing", started_at=NOW - timedelta(hours=1))

    assert len(look()) == 1

    assert Process.objects.get().started_at == NOW - timedelta(hours=1)


def test_unsafe_step_of_unknown_outcome_ends_in_error_without_room(toy):
    process = toy()
    Flow.objects.filter(agent="toy.alpha").update(window=0)
    put(Step.objects.filter(process=process, name="one"), is_in_doubt=True, effect="unsafe")

    assert look({"toy.alpha"}) == []

    assert only(process, "one").state == "error"
    assert Process.objects.get().needs_decision


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
class TestTwoSessions:
    """Where plans are kept, and nobody else's transaction is open."""

    def test_of_an_order_that_is_paused_just_now_nothing_is_taken(self, two, toy):
        process = toy()

        @transaction.atomic
        def pause() -> None:
            Process.objects.filter(pk=process.pk).update(paused_at=NOW)

        _, looking = meet(two, pause, look, after=1)

        assert looking.result == []
        assert only(process, "one").state == "pending"

    def test_who_holds_an_order_is_not_waited_for(self, two, toy):
        held, free = toy(), toy()

        @transaction.atomic
        def hold() -> None:
            list(Process.objects.select_for_update().filter(pk=held.pk))

        _, looking = meet(two, hold, look, after=1)

        assert [claim.process_id for claim in looking.result] == [free.pk]

    def test_two_of_them_share_an_agent_s_room(self, two, toy):
        for _ in range(5):
            toy()
        Flow.objects.filter(agent="toy.alpha").update(window=3)

        turns = meet(two, look, look, after=2)

        assert [len(turn.result) for turn in turns] == [3, 0]
        assert Step.objects.filter(state="processing").count() == 3

    def test_steps_are_written_in_the_order_of_their_keys(self, toy):
        """As whoever else writes several at once does; two orders would meet in a deadlock."""
        submit("toy_parallel", subject="Toy", input={}, now=NOW)
        keys = list(
            Step.objects.filter(state="pending").order_by("pk").values_list("pk", flat=True)
        )
        for pk, agent in zip(keys, ["toy.gamma", "toy.alpha"], strict=True):
            Step.objects.filter(pk=pk).update(agent=agent)

        assert [claim.step_id for claim in look()] == keys[::-1]

        # A row is written anew behind those that were written before it.
        written = dialect.fetch(
            "SELECT id FROM workers_step WHERE state = 'processing' ORDER BY ctid", []
        )
        assert [pk for (pk,) in written] == keys

    def test_look_claims_step_that_another_session_has_just_written(self, toy):
        process = toy()
        row = only(process, "one")
        put_off = "UPDATE workers_step SET failure_threshold = 7 WHERE id = %s"

        with waiting_for(row.pk, look, then=put_off) as results:
            pass

        # Its condition holds: a pending step that nobody else has claimed.
        assert [claim.step_id for claim in results[0]] == [row.pk]
        claimed = only(process, "one")
        assert (claimed.state, claimed.failure_threshold) == ("processing", 7)
