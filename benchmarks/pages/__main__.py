"""Ask for the admin's pages of the database at DATABASE_URL, as it ships: DEBUG off.

DATABASE_URL=postgres://... python -m benchmarks.pages --rounds 3
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import child

child.ensure_folder()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
os.environ.setdefault("SAS_LOG_LEVEL", "CRITICAL")

import django  # noqa: E402

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from benchmarks.pages.addresses import INDEX, addresses  # noqa: E402

#: The index is what an operator looks at all day.
LIMITS_MS = {INDEX: 200.0}
LIMIT_MS = 500.0


class Counted:
    """Counts the statements of a block, and the time that the database takes for them."""

    def __init__(self) -> None:
        self.statements, self.seconds, self.slowest = 0, 0.0, (0.0, "")

    def __call__(self, execute, statement, params, many, context):
        began = time.perf_counter()
        try:
            return execute(statement, params, many, context)
        finally:
            took = time.perf_counter() - began
            self.statements += 1
            self.seconds += took
            self.slowest = max(self.slowest, (took, statement))


class Busy:
    """The processor's time that this process and, on the same machine, its database take.

    On a machine that does nothing else a page takes about as long.
    """

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self._stat = Path(f"/proc/{cursor.fetchone()[0]}/stat")

    def milliseconds(self) -> float:
        return 1000 * (time.process_time() + self._of_database())

    def _of_database(self) -> float:
        try:
            fields = self._stat.read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.pages", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="the median counts: 3 unless given")
    parser.add_argument("--only", default="", help="addresses that contain this")
    parser.add_argument(
        "--busy", action="store_true", help="judge by the processor's time: others are at work here"
    )
    parser.add_argument("--explain", action="store_true", help="print the slowest statement")
    asked = parser.parse_args(words)
    client = Client(SERVER_NAME="127.0.0.1", headers={"X-Forwarded-Proto": "https"})
    user = get_user_model().objects.filter(is_superuser=True).first()
    if user is None:
        parser.error("there is no superuser. Fill the database with benchmarks.population.")
    client.force_login(user)
    # What is loaded by the first request of a process.
    client.get(INDEX)
    busy = Busy()
    slow = failed = 0
    print(f"{'ms':>8} {'busy':>8} {'of it SQL':>9} {'queries':>7}  address")
    for address, is_poll in addresses():
        if asked.only not in address:
            continue
        headers = {"HX-Request": "true"} if is_poll else {}
        times, work, counted, status = [], [], Counted(), 0
        for _ in range(max(asked.rounds, 1)):
            counted = Counted()
            began, before = time.perf_counter(), busy.milliseconds()
            with connection.execute_wrapper(counted):
                status = client.get(address, headers=headers).status_code
            times.append(1000 * (time.perf_counter() - began))
            work.append(busy.milliseconds() - before)
        took = median(work if asked.busy else times)
        is_slow = took > LIMITS_MS.get(address, LIMIT_MS)
        slow, failed = slow + is_slow, failed + (status != 200)
        note = ("  SLOW" if is_slow else "") + (f"  HTTP {status}" if status != 200 else "")
        print(
            f"{median(times):8.0f} {median(work):8.0f} {1000 * counted.seconds:9.0f}"
            f" {counted.statements:7}  {address}"
            f"{' (poll)' if is_poll else ''}{note}",
            flush=True,
        )
        if asked.explain and is_slow:
            print(f"         {1000 * counted.slowest[0]:.0f} ms: {counted.slowest[1][:1500]}")
    print(f"{slow} are slower than they should be, {failed} were not answered with a page.")
    return 1 if slow or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
