"""What plain replies made ready goes by what its agent's row says once that is locked."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest

from tests.concurrency.matrix.pausing import Session, meet
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_store_claims import start
from tests.integration.test_store_settling import Toy, a_result
from workers import scheduler
from workers.models import Flow, Hold, Journal, Step
from workers.scheduler.reply_batches import Arrivals
from workers.store.claims.claim_steps import Claim
from workers.store.db import dialect
from workers.store.settle import settle_fast
from workers.testing import Wire
from workers.wire import dispatch

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

#: Its statements: the planner's settings, the lock of processes, what ends, the lock of flow rows,
#: what begins.
AFTER_SETTLED, AFTER_LOCKED, AFTER_ALL = 3, 4, 5


def settling_of(one: Claim) -> Callable[[], settle_fast.Plain]:
    return lambda: settle_fast.settle([a_result(one)], "s", NOW)


@pytest.mark.parametrize(
    ("after", "claimed"), [(AFTER_SETTLED, [0, 1]), (AFTER_LOCKED, [1, 0]), (AFTER_ALL, [1, 0])]
)
def test_two_settlements_share_an_agent_s_room(
    after: int, claimed: list[int], two: tuple[Session, Session], toy: Toy
) -> None:
    toy()
    # They come to the same agent from two.
    Step.objects.filter(process=toy(), name="one").update(agent="toy.gamma")
    first, second = sorted(claim(), key=attrgetter("process_id"))
    Flow.objects.filter(agent="toy.beta").update(window=1)

    turns = meet(two, settling_of(first), settling_of(second), after=after)

    # Whoever has the agent's row first has its room, and the other finds it taken.
    assert [len(turn.result.claims) for turn in turns] == claimed
    states = Step.objects.filter(name="two").order_by("pk").values_list("state", flat=True)
    assert list(states) == [["pending", "processing"][count] for count in claimed]


def test_a_settlement_waits_for_no_agent_that_it_claims_nothing_of(
    two: tuple[Session, Session], toy: Toy
) -> None:
    process = toy()
    (first,) = claim()
    (second,) = settle_fast.settle([a_result(first)], "s", NOW).claims
    toy()
    (first,) = claim()
    ended: list[str] = []

    # The one holds the row of the agent that it claims of, and the other's call was that agent's.
    meet(
        two,
        lambda: (settle_fast.settle([a_result(first)], "s", NOW), ended.append("claims of it")),
        lambda: (settle_fast.settle([a_result(second)], "s", NOW), ended.append("frees room")),
        after=AFTER_ALL,
    )

    assert second.agent == "toy.beta"
    assert ended == ["frees room", "claims of it"]
    assert [only(process, name).state for name in ("one", "two")] == ["processed"] * 2


def _flow(**values: Any) -> Callable[[], object]:
    return lambda: Flow.objects.filter(agent="toy.beta").update(**values)


@pytest.mark.parametrize(
    ("change", "is_waited_for"),
    [
        (_flow(opened_at=NOW, open_until=NOW, unavailable_streak=5), True),
        (_flow(unavailable_streak=1), True),
        (_flow(forced="open"), True),
        (_flow(rate_per_second=1), True),
        (_flow(window=0), False),
        (lambda: Hold.objects.create(kind="agent", name="toy.beta", began_at=NOW), True),
        (lambda: Flow.objects.filter(agent="toy.beta").delete(), False),
    ],
    ids=["breaker", "streak", "forced", "rate", "window", "hold", "gone"],
)
def test_what_has_changed_before_the_lock_counts(
    change: Callable[[], object], is_waited_for: bool, two: tuple[Session, Session], toy: Toy
) -> None:
    process = toy()
    (one,) = claim()

    turn, changed = meet(two, settling_of(one), change, after=AFTER_SETTLED)

    assert not isinstance(changed.result, Exception)
    done = turn.result
    assert done.settled == {one.step_id}
    assert done.claims == []
    # Who settles looks at once what may be claimed of it after all.
    assert done.waited_for == ({"toy.beta"} if is_waited_for else set())
    assert [only(process, name).state for name in ("one", "two")] == ["processed", "pending"]
    told = Journal.objects.filter(process=process, step__name="two")
    assert [(row.event, row.before, row.after) for row in told] == [("ready", "waiting", "pending")]


@pytest.mark.django_db(transaction=True)
def test_messages_are_taken_while_what_waited_is_claimed(toy: Toy, wire: Wire) -> None:
    Flow.objects.filter(agent="toy.gamma").update(window=1)
    processes = [toy("toy_narrow"), toy("toy_narrow")]
    found = claim()
    start(found)
    under_way: list[bool] = []

    def take(most: int) -> list[list[Any]]:
        under_way.append(dialect.is_pipelined())
        return []

    scheduler.settle_all(Arrivals([dispatch.replies_to_wire([a_result(*found)])], take))

    # Before the first, while it is settled, while the next step is claimed; nothing is left then.
    assert under_way == [False, True, True, False]
    states = [only(process, "only").state for process in processes]
    assert states == ["processed", "processing"]
