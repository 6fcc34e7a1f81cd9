"""What the services have seen: a line when a call begins and one when it ends, and its judge."""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path

FILE = "SHAPE_LEDGER"
#: Clocks of one machine agree; a line is written a moment after its call began.
SLACK = 0.02


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a service, as long as it may have gone on."""

    agent: str
    limit: str
    what: str
    key: str
    begin: float
    end: float


@cache
def _file(pid: int) -> int:
    return os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def write(event: str, agent: str, limit: str, what: str, key: str, until: float) -> None:
    """Add a line; the kernel keeps lines of several processes apart."""
    fields = (event, agent, limit, what.replace(" ", "_"), key, f"{time.time():.4f}")
    os.write(
        _file(os.getpid()), " ".join([*fields, f"{until:.4f}\n"]).replace("  ", " - ").encode()
    )


def read(path: Path) -> list[Call]:
    """Return the calls of a ledger.  One without an end went on until its answer was due."""
    begun: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
    calls = []
    for line in path.read_text().splitlines():
        event, agent, limit, what, key, at, until = line.split(" ")
        if event == "begin":
            begun[key, until].append([agent, limit, what, key, at, until])
        else:
            found = begun[key, until].pop()
            calls.append(Call(*found[:4], float(found[4]), min(float(at), float(until))))
    for rest in begun.values():
        calls += [Call(*one[:4], float(one[4]), float(one[5])) for one in rest]
    return sorted(calls, key=lambda call: call.begin)


def at_once(calls: Iterable[Call]) -> dict[tuple[str, str], int]:
    """Return the most calls at once of each key, by agent and key."""
    events = defaultdict(list)
    for call in calls:
        events[call.agent, call.limit] += [(call.begin + SLACK, 1), (call.end, -1)]
    return {key: max(accumulate(by for _, by in sorted(moves))) for key, moves in events.items()}


def a_second(calls: Iterable[Call], late: float) -> dict[tuple[str, str], int]:
    """Return the most calls of each key that began in a second, by agent and key.

    A call begins up to ``late`` seconds after its token was spent.
    """
    begins = defaultdict(list)
    for call in calls:
        begins[call.agent, call.limit].append(call.begin)
    return {
        key: max(sum(at <= one < at + 1 - late for one in instants) for at in instants)
        for key, instants in begins.items()
    }


def over(found: Mapping[tuple[str, str], int], limits: Mapping[str, int], what: str) -> list[str]:
    """Name the keys that had more than their agent's limit."""
    return [
        f"{agent} had {most} calls {what} for {limit}"
        for (agent, limit), most in found.items()
        if most > limits.get(agent, most)
    ]


def doubled(calls: Iterable[Call]) -> list[str]:
    """Name what was done under two keys: a service that honours keys did it twice."""
    keys = defaultdict(set)
    for call in calls:
        keys[call.agent, call.what].add(call.key)
    return [f"{agent} did {what} {len(found)} times" for (agent, what), found in keys.items()
            if len(found) > 1]  # fmt: skip


def missing(calls: Iterable[Call], agent: str, wanted: Iterable[str]) -> list[str]:
    """Name what an agent was to do and never did."""
    done = {call.what for call in calls if call.agent == agent}
    return [f"{agent} never did {what}" for what in wanted if what not in done]


def overlapping(spans: Iterable[tuple[str, float, float]]) -> list[str]:
    """Name the keys of which two spans (key, begin, end) overlap."""
    by_key = defaultdict(list)
    for key, begin, end in spans:
        by_key[key].append((begin, end))
    found = Counter(
        key
        for key, of_key in by_key.items()
        for (_, end), (begin, _) in pairwise(sorted(of_key))
        if begin < end
    )
    return [f"{key} had two at once, {times} times" for key, times in found.items()]
