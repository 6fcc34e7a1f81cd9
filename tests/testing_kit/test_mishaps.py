"""A broken wire: every mishap does what it says, and the engine lives with it."""

import pytest

from workers import scheduler
from workers.client.submission import submit
from workers.exceptions import BrokerRefused
from workers.models import Process
from workers.testing import (
    Wire,
    assert_invariants,
    assert_processed,
    broken_wire,
    delays,
    doubles,
    drops,
    overtakes,
    passes,
    refuses,
    scripted,
    takes_and_refuses,
    unreliable_wire,
)
from workers.testing.agent_processes import CALL, REPLY
from workers.wire import dispatch


def send(wire: Wire, *names: str) -> None:
    for name in names:
        wire.take(name, [], "a queue")


def on(wire: Wire) -> list[str]:
    return [message.task for message in wire.messages]


def test_mishaps_happen_one_after_another_and_then_none(wire):
    with broken_wire(wire, [passes, drops, doubles, overtakes]):
        send(wire, "a", "b", "c", "d", "e")
        assert on(wire) == ["d", "a", "c", "c", "e"]


def test_after_the_block_the_wire_is_whole(wire):
    with pytest.raises(ZeroDivisionError), broken_wire(wire, [drops] * 9):
        raise ZeroDivisionError

    send(wire, "a")

    assert on(wire) == ["a"]


@pytest.mark.parametrize(
    ("mishap", "arrived"), [(refuses, []), (takes_and_refuses, ["a"])], ids=["not taken", "taken"]
)
def test_a_message_is_refused(wire, mishap, arrived):
    with broken_wire(wire, [mishap]), pytest.raises(BrokerRefused):
        send(wire, "a")

    assert on(wire) == arrived


def test_a_delayed_message_arrives_when_its_time_has_come(wire, clock):
    with broken_wire(wire, [delays(10)]):
        wire.take(dispatch.ADVANCE, [], "a queue")
    submit("toy_line", subject="Toy 1", input={})

    wire.run_until_idle()
    assert (on(wire), len(wire.delayed)) == ([], 1)
    clock.advance(seconds=10)
    wire.run_until_idle()

    assert (on(wire), len(wire.delayed)) == ([], 0)


def test_time_runs_on_until_what_is_delayed_has_arrived(wire, clock):
    """A poll sends another wake-up meanwhile; the late one finds nothing due."""
    process = submit("toy_line", subject="Toy 1", input={})

    with scripted({}) as calls, broken_wire(wire, [delays(3600)]):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert wire.delayed == []
    assert [call.agent for call in calls] == ["toy.alpha", "toy.beta"]


@pytest.mark.parametrize(
    "mishap",
    [drops, doubles, overtakes, refuses, takes_and_refuses, delays(40)],
    ids=lambda mishap: mishap.__name__,
)
@pytest.mark.parametrize("place", range(5))
def test_no_mishap_at_any_place_harms(wire, clock, mishap, place):
    process = submit("toy_diamond", subject="Toy 1", input={})

    with scripted({}) as calls, broken_wire(wire, [*[passes] * place, mishap]):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert_invariants()
    assert len({call.key for call in calls}) == 4


@pytest.mark.parametrize("seed", range(5))
def test_random_mishaps_do_not_harm(wire, clock, seed):
    processes = [submit("toy_diamond", subject=f"Toy {n}", input={}) for n in range(3)]

    with unreliable_wire(wire, seed):
        wire.run_until_settled(clock)
        for process in processes:
            assert Process.objects.get(pk=process.pk).state in ("processed", "error")
        assert_invariants()


def happened(seed: int | None) -> tuple[list[tuple[str, int]], int]:
    """Return what became of forty messages, and the seed."""
    wire = Wire()
    with unreliable_wire(wire, seed, delay=0) as used:
        send(wire, *map(str, range(40)))
    return [(name, on(wire).count(name)) for name in on(wire)], used


def test_the_same_seed_is_the_same_mishaps():
    assert happened(7) == happened(7)
    assert happened(7) != happened(8)
    first, seed = happened(None)
    assert happened(seed) == (first, seed)


def test_all_kinds_of_mishaps_happen_at_random(clock):
    wire = Wire()
    with unreliable_wire(wire, 1):
        send(wire, *map(str, range(200)))
    names = on(wire)

    assert len(wire.delayed) > 5
    assert sum(names.count(str(n)) == 2 for n in range(200)) > 5
    assert sum(names.count(str(n)) == 0 for n in range(200)) - len(wire.delayed) > 5
    assert names != sorted(names, key=int)


def test_a_failure_says_the_seed(wire):
    with pytest.raises(AssertionError) as caught, unreliable_wire(wire, 41):
        raise AssertionError("something is wrong")

    assert caught.value.__notes__ == [
        "The wire was broken at random: unreliable_wire(wire, seed=41, ...)"
    ]


@pytest.mark.parametrize("odds", [{"drop": 0.8}, {"drop": -0.1}], ids=["too many", "negative"])
def test_probabilities_must_be_some(wire, odds):
    with pytest.raises(ValueError, match="add up"), unreliable_wire(wire, 1, **odds):
        pass


def test_a_doubled_wake_up_takes_each_step_once(wire, clock):
    process = submit("toy_line", subject="Toy 1", input={})

    with scripted({}) as calls, broken_wire(wire, [doubles]):
        scheduler.advance()
        assert on(wire) == [dispatch.TAKE] * 2
        assert wire.deliver_all(dispatch.TAKE) == 2
        assert on(wire) == [CALL]
        wire.run_until_settled(clock)

    assert_processed(process)
    assert [call.agent for call in calls] == ["toy.alpha", "toy.beta"]


def test_what_a_process_holds_is_beyond_the_broker(wire, clock):
    """Its calls are made once, and its answers may be handed over again."""
    process = submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()

    with scripted({}) as calls, broken_wire(wire, [doubles, refuses, doubles, takes_and_refuses]):
        wire.deliver_all(dispatch.TAKE)
        assert on(wire) == [CALL]
        wire.deliver_all(CALL)
        assert on(wire) == [REPLY]
        wire.deliver_all(REPLY)
        assert on(wire) == [CALL]
        wire.is_down = True
        wire.deliver_all(CALL)
        assert on(wire) == [REPLY]
        wire.is_down = False
        wire.messages *= 2
        wire.run_until_settled(clock)

    assert_processed(process)
    assert [call.agent for call in calls] == ["toy.alpha", "toy.beta"]
