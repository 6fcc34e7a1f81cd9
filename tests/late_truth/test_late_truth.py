"""Every end of a call, every success that comes after it, every key it had: all is explained."""

from collections.abc import Iterator
from random import Random

import pytest

from tests.late_truth.ends import ENDS, carry_out
from tests.late_truth.reconcile import unexplained
from tests.late_truth.story import Story
from workers.ops import invariants
from workers.supervisor import beat_schedule
from workers.testing import Clock, Wire, frozen_clock

pytestmark = pytest.mark.django_db
#: When the first success comes: before or after what the end has begun is done.
MOMENTS = ("at once", "later")


@pytest.fixture(autouse=True)
def flow_rows(db) -> None:
    beat_schedule.ensure_flow()


@pytest.fixture
def clock() -> Iterator[Clock]:
    with frozen_clock() as clock:
        yield clock


def tell(story: Story, end: str) -> None:
    """Have an order end, and its bank succeed afterwards under any of its keys."""
    rng = story.rng
    story.begin()
    carry_out(story, end)
    moment = rng.choice(MOMENTS)
    if moment == "later":
        story.run()
    if rng.random() < 0.3:
        # The money moved before anything was undone, and only the news is late.
        story.pay(story.key)
    keys = list(story.bank.tokens)
    for key in rng.sample(keys, rng.randint(1, len(keys))):
        for _ in range(rng.randint(1, 2)):
            story.deliver(key)
        if rng.random() < 0.5:
            story.run()
    story.heal()
    if rng.random() < 0.3:
        story.deliver(rng.choice(keys))
        story.heal()


def late_truth(seed: str, orders: int, wire: Wire, clock: Clock) -> list[str]:
    """Tell of ``orders`` orders, each end in turn; return what nothing explains."""
    print(f"late truth: seed {seed}, {orders} orders, {len(ENDS)} ends")
    rng = Random(seed)
    first = rng.randrange(len(ENDS))
    found: list[str] = []
    for number in range(orders):
        end = list(ENDS)[(first + number) % len(ENDS)]
        falls_back = end.startswith("fallen back")
        story = Story(wire, clock, Random(rng.random()), number, falls_back)
        tell(story, end)
        found += [f"seed {seed}, {end}: {wrong}" for wrong in unexplained(story)]
    return found + [str(wrong) for wrong in invariants.violations()]


def test_each_late_success_is_explained(wire, clock):
    assert late_truth("short", len(ENDS), wire, clock) == []


@pytest.mark.volume
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_thousand_late_successes_are_explained(seed, part, wire, clock):
    assert late_truth(f"{seed}.{part}", 100, wire, clock) == []
