"""Everybody who takes part in a regime, measured in turn; a ratio is of one round."""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import contenders, figures
from benchmarks.bench import Bench, Found, rounded_all
from benchmarks.contenders import CONTENDERS

Rounds = list[dict[str, Found | None]]

#: What an order costs, beside its time.
COSTS = ("cpu_ms", "commits", "wal_bytes", "fsyncs", "messages")


def measured(
    bench: Bench,
    case: str,
    taking_part: str,
    words: Callable[[contenders.Contender], tuple[Any, ...]],
    *,
    keys: tuple[str, ...] = ("per_second",),
    regime: str = "filled",
    **how: Any,
) -> dict[str, Any]:
    """Interleave everybody; a ratio is of one round."""
    rounds = bench.rounds(
        case,
        {name: [regime, *map(str, words(one))] for name, one in contenders.of(taking_part).items()},
        **how,
    )
    table = {name: _medians(rounds, name, (*keys, *COSTS)) for name in rounds[0]}
    ratios = _ratios(case, rounds, keys[0]) | _ratios(f"{case}/cpu", rounds, "cpu_ms")
    return {case: table, "ratios": ratios, "rounds": rounds}


def together(key: str, parts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    table, ratios = {}, {}
    for name, part in parts.items():
        table[name] = part[f"{key}_{name}"]
        ratios |= part["ratios"]
    return {key: table, "ratios": ratios}


def _medians(rounds: Rounds, name: str, keys: tuple[str, ...]) -> Found | None:
    found = [one[name] for one in rounds if one[name] is not None]
    if not found:
        return None
    return {
        key: figures.rounded(
            figures.median([one[key] for one in found if one.get(key) is not None])
        )
        for key in keys
    }


def _ratios(case: str, rounds: Rounds, key: str) -> dict[str, float | None]:
    """Return ours divided by each of the others."""
    plain = [{name: found and found.get(key) for name, found in one.items()} for one in rounds]
    return {
        f"{case}/{name}": figures.rounded(figures.ratio(plain, "ours", name))
        for name in CONTENDERS
        if name != "ours" and name in rounds[0]
    }


def last(rounds: Rounds, name: str, key: str) -> Found | None:
    found = [one[name] for one in rounds if one[name] is not None]
    return rounded_all(found[-1][key]) if found else None
