"""What is asked for on the command line, checked before anything is started."""

import argparse
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.backend import BROKERS, DATABASES
from tests.chaos.doors import DOORS
from tests.chaos.faults import CATALOGUE, USUAL

SECONDS = 60.0
#: Orders a second unless their number is given.
RATE = 4.0
ALL = "all"
#: All faults at their own rhythm leave no moment in which anything works.
MANY_PAUSES = 5.0


@dataclass(frozen=True)
class Options:
    seed: int
    seconds: float | None
    pair: str
    faults: tuple[str, ...]
    orders: int | None
    doors: tuple[str, ...]
    scenario: str | None
    report: Path | None
    keep: bool
    heal_seconds: float
    #: The faults were named, and are not the usual ones.
    is_chosen: bool
    #: How much longer the pauses between two strikes of a fault are.
    pauses: float


def parse(words: list[str], scenarios: Mapping[str, str]) -> Options:
    """Read a command line; print what is wrong with it and exit with 2.

    ``scenarios`` are the presets by name, with what each does.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description="Runs the whole system on private servers, hurts it at random, lets it heal "
        "and judges it. Exit 0 only if nothing was lost, nothing happened twice, everything came "
        "to rest, and every fault that was asked for did strike.",
    )
    parser.add_argument("--seed", type=int, help="default: a new one, printed")
    parser.add_argument("--seconds", type=_seconds, help=f"faults strike so long: {SECONDS:g}")
    parser.add_argument("--orders", type=_count, help=f"default: {RATE:g} a second")
    parser.add_argument("--on", default="postgresql+rabbitmq", type=_pair, metavar="DB+BROKER",
                        help=f"{'|'.join(DATABASES)}+{'|'.join(BROKERS)}")  # fmt: skip
    parser.add_argument("--faults", type=_faults, default=None, metavar="NAME,...",
                        help=f"or {ALL}; default: {','.join(USUAL)}")  # fmt: skip
    parser.add_argument("--pauses", type=_factor, metavar="FACTOR",
                        help=f"longer pauses; with {ALL}: {MANY_PAUSES:g}")  # fmt: skip
    parser.add_argument("--doors", type=_doors, metavar="NAME,...", default=tuple(DOORS),
                        help=f"default: {','.join(DOORS)}")  # fmt: skip
    parser.add_argument("--scenario", choices=list(scenarios), metavar="NAME",
                        help=f"a preset: {', '.join(scenarios)}")  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="FOLDER", help="write a page and its data")
    parser.add_argument("--heal-seconds", type=_seconds, default=120.0)
    parser.add_argument("--keep", action="store_true", help="keep the run's folder, with all logs")
    parser.add_argument("--list", action="store_true", help="list the faults and the scenarios")
    given = parser.parse_args(words)
    if given.list:
        _list(scenarios)
        parser.exit()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    doors = given.doors
    if given.on.endswith("+filesystem"):
        doors = tuple(door for door in doors if door != "queue")
    return Options(
        seed, given.seconds, given.on, given.faults or USUAL, given.orders, doors,
        given.scenario, given.report, given.keep, given.heal_seconds, given.faults is not None,
        given.pauses or (MANY_PAUSES if given.faults == tuple(CATALOGUE) else 1.0),
    )  # fmt: skip


def _list(scenarios: Mapping[str, str]) -> None:
    faults = [f"  {fault.name:18} {fault.says}" for fault in CATALOGUE.values()]
    presets = [f"  {name:18} {says}" for name, says in scenarios.items()]
    # In one piece: a reader that has seen enough (`| head`) breaks no later line.
    print("\n".join(["Faults:", *faults, "Scenarios:", *presets]))


def _seconds(text: str) -> float:
    return _number(text, 1, 86_400, "time; give 1 to 86400 seconds")


def _factor(text: str) -> float:
    return _number(text, 0.1, 100, "factor; give 0.1 to 100")


def _number(text: str, least: float, most: float, wanted: str) -> float:
    with suppress(ValueError):
        if least <= (number := float(text)) <= most:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is no {wanted}")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of orders; give 1 to 1000000")
    return int(text)


def _pair(text: str) -> str:
    database, _, broker = text.partition("+")
    if database not in DATABASES or broker not in BROKERS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no pair; give one of {', '.join(DATABASES)}, a +, and one of "
            f"{', '.join(BROKERS)}"
        )
    return text


def _faults(text: str) -> tuple[str, ...]:
    return tuple(CATALOGUE) if text == ALL else _names(text, tuple(CATALOGUE), "fault")


def _doors(text: str) -> tuple[str, ...]:
    return _names(text, tuple(DOORS), "door")


def _names(text: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(
                f"{name!r} is no {what}; choose from {', '.join(known)}"
            )
    return names
