"""Fill the database at DATABASE_URL (PostgreSQL) with orders.

DATABASE_URL=postgres://... python -m benchmarks.population --orders 1000000 --seed 1
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence

from benchmarks import child

child.ensure_folder()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
os.environ.setdefault("SAS_LOG_LEVEL", "ERROR")

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from benchmarks.population import copies, specimens  # noqa: E402
from orders.models import Order  # noqa: E402


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.population", description=__doc__)
    parser.add_argument("--orders", type=int, default=1_000_000, help="1,000,000 unless given")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same mixture")
    asked = parser.parse_args(words)
    if asked.orders < 1:
        parser.error(f"--orders must be 1 or more, got {asked.orders}.")
    if connection.vendor != "postgresql":
        parser.error("DATABASE_URL must name a PostgreSQL database: rows are copied there.")
    call_command("migrate", verbosity=0)
    if Order.objects.exists():
        parser.error("the database has orders already. Give an empty one.")
    began = time.monotonic()
    made = specimens.make()
    _say(began, f"{len(made)} specimens")
    for done in copies.copy(made, asked.orders, asked.seed):
        _say(began, done)
    return 0


def _say(began: float, text: str) -> None:
    print(f"{time.monotonic() - began:6.0f} s  {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
