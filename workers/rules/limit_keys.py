"""The keys by which calls and processes are limited, and how much room they have.  Pure.

A key names what is limited and a value: the calls of an agent, or the processes of a workflow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workers.rules.rate_limit import Bucket
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import ProcessState


def of_agent(agent: str, attribute: str | None, values: Mapping[str, str] | None) -> str | None:
    """Return the key of a call of an agent that limits by an attribute; None: it has none."""
    if attribute is None or values is None or attribute not in values:
        return None
    return f"agent:{agent}:{attribute}={values[attribute]}"


def needed(locked: LockedProcess, step: StepRow) -> Iterator[str]:
    """Yield the keys in which a claim of a step needs a place."""
    if locked.process.exclusive is not None and locked.process.state == ProcessState.PENDING:
        # The first step's begin is the process's.
        yield locked.process.exclusive
    if step.limit_key is not None:
        yield step.limit_key


@dataclass(slots=True)
class KeyRoom:
    """How many more places some keys have, counted under the locks of a claim."""

    #: By key; None: another session decides about it now, or others come before.
    left: dict[str, int | None]
    #: The tokens of those that have a rate, at the instant of the claim.
    buckets: dict[str, Bucket] = field(default_factory=dict)
    #: Those whose tokens were spent.
    spent: set[str] = field(default_factory=set)
    #: Full keys for whose places steps were turned away.
    waited_for: set[str] = field(default_factory=set)
    #: Whether a step was turned away for a key about which another session decides.
    is_undecided: bool = False

    def has_room(self, locked: LockedProcess, step: StepRow) -> bool:
        """Say whether there is a place for a step in each of its keys; note which is full."""
        for key in needed(locked, step):
            left = self.left[key]
            if left is None:
                self.is_undecided = True
                return False
            if left <= 0:
                self.waited_for.add(key)
                return False
        return True

    def take(self, locked: LockedProcess, step: StepRow, calls: int) -> None:
        """Use up the places of a claim, and the tokens of its calls; before the process moves."""
        for key in needed(locked, step):
            self.left[key] = (self.left[key] or 0) - 1
            if (bucket := self.buckets.get(key)) is not None:
                self.buckets[key] = bucket.spent(calls)
                self.spent.add(key)

    def seconds_to_next(self) -> float | None:
        """Return the time until a key that was used has a token; None: none waits for one."""
        keys = self.buckets.keys() & (self.spent | self.waited_for)
        return min((self.buckets[key].seconds_to_next() for key in keys), default=None)


class Limit(StrEnum):
    """What of a key a step waits for."""

    PLACE = "place"
    TOKEN = "token"  # noqa: S105 (of a bucket)
    #: An operator has set the window to 0.
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Blocked:
    """What a blocked step waits for: its key, and who has the places of it."""

    #: The attribute, without the value, which may be a person's.
    attribute: str
    #: How many have a place at once: calls, or processes if it is exclusive.
    window: int
    is_exclusive: bool
    #: The process that has had a place for longest, and its state; None: none has one now.
    holder: int | None
    holder_state: str | None
    #: How many blocked steps have their turn first.
    before: int
    limit: Limit = Limit.PLACE
    #: How many calls may begin in a second; None: no limit.
    rate: float | None = None


def attribute_of(key: str, owner: str) -> str:
    """Return the attribute that a key of an agent or a workflow is about."""
    return key.partition(f":{owner}:")[2].partition("=")[0]
