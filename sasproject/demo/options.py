"""The command-line options of a demo."""

import argparse
from dataclasses import dataclass

from sasproject.stack import ports

HEADLESS_ORDERS = 60
MOST_ORDERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """The command line of a demo."""

    headless: bool
    orders: int | None
    seed: int
    json: bool
    keep: bool
    web_port: int | None
    sandbox_port: int | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--headless", action="store_true", help="no board and no keys: play a script and end"
    )
    parser.add_argument(
        "--orders",
        type=_count,
        metavar="N",
        help=f"how many orders; default {HEADLESS_ORDERS} headless, else as long as it runs",
    )
    parser.add_argument(
        "--seed", type=int, default=7, metavar="S", help="who buys what, what fails; default 7"
    )
    parser.add_argument(
        "--json", action="store_true", help="only the line of JSON on the standard output"
    )
    parser.add_argument(
        "--keep", action="store_true", help="go on with the orders and ledgers of the last demo"
    )
    web, sandbox = ports.help_text(ports.WEB_PORT), ports.help_text(ports.SANDBOX_PORT)
    parser.add_argument("--web-port", type=_port, metavar="P", help=web)
    parser.add_argument("--sandbox-port", type=_port, metavar="Q", help=sandbox)


def _count(text: str) -> int:
    return _whole(text, 1, MOST_ORDERS)


def _port(text: str) -> int:
    return _whole(text, 0, 65535)


def _whole(text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdecimal() and low <= int(text) <= high):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
    return int(text)
