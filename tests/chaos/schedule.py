"""Which fault strikes when: drawn from the seed alone, before anything runs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random

#: The shares of the time within which a fault strikes for the first time.
FIRST = (0.05, 0.45)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a fault strikes, and how long it lasts: bounds in seconds."""

    fault: str
    every: tuple[float, float]
    lasts: tuple[float, float] = (0.0, 0.0)

    def stretched(self, factor: float) -> "Rhythm":
        """Return the same with longer pauses; a fault lasts as long as before."""
        low, high = self.every
        return replace(self, every=(low * factor, high * factor))


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault to come."""

    at: float
    fault: str
    lasts: float
    #: Where the strike draws its own choices from: the same in every run of this seed.
    seed: str

    def random(self) -> Random:
        return Random(self.seed)


def plan(seed: int, seconds: float, rhythms: Iterable[Rhythm]) -> list[Strike]:
    """Return the strikes of a run, in order; every fault strikes at least once.

    Each fault draws for itself, so that one that is left out moves none of the others.
    """
    found = [strike for rhythm in rhythms for strike in _of(seed, seconds, rhythm)]
    return sorted(found, key=lambda strike: (strike.at, strike.fault))


def _of(seed: int, seconds: float, rhythm: Rhythm) -> Iterator[Strike]:
    random = Random(f"{seed} {rhythm.fault}")
    low, high = FIRST
    at = min(random.uniform(0, rhythm.every[1]), random.uniform(low, high) * seconds)
    number = 0
    while at < seconds:
        number += 1
        lasts = random.uniform(*rhythm.lasts)
        yield Strike(round(at, 3), rhythm.fault, round(lasts, 3), f"{seed} {rhythm.fault} {number}")
        # From its end: a fault does not overlap with itself.
        at += lasts + random.uniform(*rhythm.every)
