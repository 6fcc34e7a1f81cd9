"""Work that has a shape: calls limited for each key, and lists of children."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import figures
from benchmarks.bench import Bench, Found, medians, say
from benchmarks.cases.interleaved import COSTS
from benchmarks.contenders import CONTENDERS

#: Who is measured -> contender, words before the number, variables, broker if not the run's.
Way = tuple[str, Sequence[str], Mapping[str, str], str | None]

KEYED: dict[str, Way] = {
    name: ("ours", ["filled"], {"BENCH_WORKFLOW": f"bench_{name}"}, None)
    for name in ("unkeyed", "keyed")
}
LISTS: dict[str, Way] = {
    "ours": ("ours", ["listed"], {}, None),
    "submitted": ("ours", ["filled"], {"BENCH_WORKFLOW": "bench_single"}, None),
    "dbos": ("dbos", ["listed"], {}, None),
    # Its results have to be kept somewhere.
    "chord": ("chain_solo", ["listed"], {}, "redis"),
}
LISTED = ("per_second", "parent_bytes", "scheduler_mb", *COSTS)


def keys(bench: Bench) -> dict[str, Any]:
    """Fill a queue of an agent that limits each of a thousand keys, and of one that limits none."""
    rounds = _rounds(bench, "keys", KEYED, bench.options.size(4000, 1000))
    return {
        "keys": {
            **_table(rounds, ("per_second", *COSTS)),
            "ratio": _ratio(rounds, "keyed", "unkeyed"),
        }
    }


def lists(bench: Bench) -> dict[str, Any]:
    """Have one step be a list, a hundred at once; beside as many processes, and others' lists."""
    rounds = _rounds(bench, "lists", LISTS, bench.options.size(10_000, 1000))
    ratios = {f"lists/{name}": _ratio(rounds, "ours", name) for name in LISTS if name != "ours"}
    return {"lists": _table(rounds, LISTED), "ratios": ratios}


def _rounds(
    bench: Bench, case: str, ways: Mapping[str, Way], size: int
) -> list[dict[str, Found | None]]:
    rounds: list[dict[str, Found | None]] = []
    for number in range(1, bench.options.rounds + 1):
        say(f"{case}: round {number}")
        rounds.append(
            {
                name: bench.once(
                    case, name, [*words, str(CONTENDERS[contender].orders(size))], number,
                    contender=contender, variables=variables, broker=broker,
                )
                for name, (contender, words, variables, broker) in ways.items()
                if contender == "ours" or contender in bench.options.peers
            }
        )  # fmt: skip
    return rounds


def _table(rounds: list[dict[str, Found | None]], figure_names: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: {key: figures.rounded(medians(rounds, name, key)) for key in figure_names}
        if medians(rounds, name, "per_second") is not None
        else None
        for name in rounds[0]
    }


def _ratio(rounds: list[dict[str, Found | None]], over: str, under: str) -> float | None:
    rates = [{name: found and found["per_second"] for name, found in one.items()} for one in rounds]
    return figures.rounded(figures.ratio(rates, over, under))
