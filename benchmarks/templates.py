"""Databases with our tables, migrated once; every measurement of ours gets a copy."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import servers
from benchmarks.bench import Bench, say
from benchmarks.exceptions import Unavailable
from benchmarks.processes import ROOT


@contextmanager
def made(bench: Bench) -> Iterator[None]:
    """Make what the cases of this run need; without its server there is none, which they say."""
    wanted = {bench.options.database}
    if "embedded" in bench.options.cases:
        wanted.add("sqlite")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sas-bench-")))
        for database in sorted(wanted):
            say(f"preparing {database}")
            try:
                if database == "postgresql":
                    url = stack.enter_context(servers.postgresql())
                    bench.templates[database] = url.rsplit("/", 1)[1]
                else:
                    url = stack.enter_context(servers.sqlite(folder))
                    bench.templates[database] = folder / "bench.sqlite3"
            except Unavailable as error:
                say(f"  {error}")
                continue
            _migrate(url, folder)
        yield


def _migrate(url: str, folder: Path) -> None:
    """Make the tables and the shop's products; the copies come with both."""
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "SAS_RUN_DIR": str(folder),
        "SAS_LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
    }
    for command in (["migrate", "-v", "0"], ["seed_demo", "--no-users"]):
        subprocess.run(
            [sys.executable, "-m", "django", *command],
            cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
