"""What is asked for on the command line, checked before anything is started."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.catalogue import CASES
from benchmarks.contenders import PEERS

DATABASES = ("postgresql", "sqlite")
BROKERS = ("rabbitmq", "redis")
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Options:
    """One run of the benchmarks."""

    cases: tuple[str, ...]
    database: str = "postgresql"
    broker: str = "rabbitmq"
    rounds: int = ROUNDS
    orders: int | None = None
    is_quick: bool = False
    is_large: bool = False
    json: Path | None = None
    report: Path | None = None
    write_docs: Path | None = None
    peers: tuple[str, ...] = PEERS
    #: Of the cases ``slow`` and ``overload``: parts whose names have this in them.
    only: str = ""

    def size(self, full: int, quick: int) -> int:
        """Return how many orders of ours a case takes, unless ``--orders`` says."""
        return self.orders or (quick if self.is_quick else full)


def parse(words: Sequence[str]) -> Options:
    """Read a command line; print what is wrong with it and exit with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures this engine beside what people use instead, and says which bars "
        "it met. Exit 1 if anything that was measured was not done, or not done right.",
    )
    parser.add_argument("--quick", action="store_true", help="the short form: fewer cases, small")
    parser.add_argument("--cases", type=_cases, metavar="NAME,...", help=f"{', '.join(CASES)}")
    parser.add_argument("--rounds", type=_count, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--orders", type=_count, help="orders of ours in a round; others follow")
    parser.add_argument("--on", type=_pair, default=("postgresql", "rabbitmq"),
                        metavar="DATABASE+BROKER",
                        help=f"{'|'.join(DATABASES)}+{'|'.join(BROKERS)}")  # fmt: skip
    whom = f"whom to measure beside ours: none, or {', '.join(PEERS)}"
    parser.add_argument("--peers", type=_peers, default=PEERS, metavar="NAME,...", help=whom)
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="parts of slow, overload and paced with it in their names: c2_1s, s4_all",
    )
    parser.add_argument("--large", action="store_true", help="10 million steps for sweep and claim")
    parser.add_argument("--json", type=_file, metavar="FILE", help="write all figures there")
    parser.add_argument("--report", type=_folder, metavar="FOLDER", help="write a page there")
    parser.add_argument("--write-docs", type=_readable, metavar="REPORT.json",
                        help="measure nothing; write the figures under proofs")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the cases and measure nothing")
    given = parser.parse_args(words)
    if given.list:
        for name, case in CASES.items():
            print(f"{name:<11} {'quick' if case.is_quick else '     '}  {case.says}")
        parser.exit()
    if given.large and given.quick:
        parser.error("--large takes minutes: leave out --quick.")
    usual = (name for name, case in CASES.items() if case.is_quick or not given.quick)
    return Options(
        given.cases or tuple(usual), *given.on, given.rounds, given.orders, given.quick,
        given.large, given.json, given.report, given.write_docs, given.peers, given.only,
    )  # fmt: skip


def _cases(text: str) -> tuple[str, ...]:
    return _named(text, "case", tuple(CASES))


def _peers(text: str) -> tuple[str, ...]:
    return () if text == "none" else _named(text, "peer", PEERS)


def _named(text: str, kind: str, known: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        said = f"No {kind} is called {' or '.join(unknown)}." if unknown else f"No {kind} is named."
        raise argparse.ArgumentTypeError(f"{said} There are {', '.join(known)}.")
    return names


def _pair(text: str) -> tuple[str, str]:
    database, _, broker = text.partition("+")
    if database not in DATABASES or broker not in BROKERS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no pair. Give {' or '.join(DATABASES)}, a +, and {' or '.join(BROKERS)}."
        )
    return database, broker


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number. Give a whole number from 1.")
    return int(text)


def _file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise argparse.ArgumentTypeError(
            f"{text} cannot be written. Name a file in a folder of yours."
        )
    return path


def _folder(text: str) -> Path:
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a file. Name a folder; it is made if missing.")
    return path


def _readable(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is not there. Name a file that --json wrote.")
    return path
