"""A wire that loses, doubles, delays and reorders messages, as scripted or at random."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from random import Random, SystemRandom

from workers.exceptions import BrokerRefused
from workers.store.db import dialect
from workers.testing.agent_processes import CALL
from workers.testing.wire import IN_MEMORY, Sent, Wire, passes

#: What happens to one message on its way.
Mishap = Callable[[Wire, Sent], None]


def drops(wire: Wire, message: Sent) -> None:
    """Lose a message that the broker has accepted."""


def doubles(wire: Wire, message: Sent) -> None:
    """Let a message arrive twice; but a process makes the calls that it holds once."""
    wire.messages += [message] if message.task == CALL else [message, message]


def overtakes(wire: Wire, message: Sent) -> None:
    """Let a message arrive before all that wait."""
    wire.messages.insert(0, message)


def refuses(wire: Wire, message: Sent) -> None:
    """Refuse a message, as a broker that is down; what a process holds is nothing to it."""
    if message.task in IN_MEMORY:
        return passes(wire, message)
    raise BrokerRefused("this message is refused")


def takes_and_refuses(wire: Wire, message: Sent) -> None:
    """Accept a message, but tell its sender that it was refused."""
    passes(wire, message)
    if message.task in IN_MEMORY:
        return
    raise BrokerRefused("this message is refused, though it was taken")


def delays(seconds: float) -> Mishap:
    """Let a message arrive that much later, by the clock."""

    def delay(wire: Wire, message: Sent) -> None:
        wire.delayed.append((dialect.read_clock() + timedelta(seconds=seconds), message))

    return delay


@contextmanager
def broken_wire(wire: Wire, mishaps: Iterable[Mishap]) -> Iterator[None]:
    """Apply one mishap to each message that is sent; after the last, none."""
    script = iter(mishaps)

    def carry(wire: Wire, message: Sent) -> None:
        next(script, passes)(wire, message)

    before, wire.carry = wire.carry, carry
    try:
        yield
    finally:
        wire.carry = before


@contextmanager
def unreliable_wire(
    wire: Wire,
    seed: int | None = None,
    *,
    drop: float = 0.1,
    double: float = 0.1,
    overtake: float = 0.1,
    delay: float = 0.1,
    most_seconds: float = 120,
) -> Iterator[int]:
    """Apply mishaps at random, each with its probability; yield the seed.

    A failed test prints the seed; passed again, it causes the same mishaps.
    """
    seed = SystemRandom().randrange(2**32) if seed is None else seed
    rng = Random(seed)  # noqa: S311 (mishaps, not secrets)
    weights = [drop, double, overtake, delay]
    if min(weights) < 0 or sum(weights) > 1:
        raise ValueError(f"The probabilities {weights} do not add up to 1 at most.")

    def at_random() -> Iterator[Mishap]:
        while True:
            late = delays(rng.uniform(0, most_seconds))
            kinds = [drops, doubles, overtakes, late, passes]
            yield rng.choices(kinds, [*weights, 1 - sum(weights)])[0]

    try:
        with broken_wire(wire, at_random()):
            yield seed
    except BaseException as error:
        error.add_note(f"The wire was broken at random: unreliable_wire(wire, seed={seed}, ...)")
        raise
