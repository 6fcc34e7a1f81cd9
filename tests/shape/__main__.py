"""Keys, child groups and schedules together, on the system as it ships, under kills.

python -m tests.shape --seed 1 --seconds 60
python -m tests.shape --customers 5000 --seconds 150

Needs the programs of PostgreSQL, and RabbitMQ.  Exit 0: nothing was lost, doubled, left or passed.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import processes, servers
from benchmarks.processes import Fleet
from tests.shape import ledger

#: The commands of *Run it in production*, with fewer agent processes.
COMMANDS = {
    "beat": "beat --pidfile=",
    "scheduler1": "worker -Q sas.scheduler,sas.supervisor,sas.reports --concurrency 2",
    "scheduler2": "worker -Q sas.scheduler,sas.supervisor,sas.reports --concurrency 2",
    "agents1": "worker -Q sas.agents --concurrency 2",
    "agents2": "worker -Q sas.agents --concurrency 2",
}
#: Time from the last fault within which everything has to be over.
HEAL_SECONDS = 60
SEASONS = 8
#: So many failings are printed.
MOST = 30


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.shape", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--customers", type=int, default=12, help="of each nightly run")
    options = parser.parse_args(words)
    with (
        tempfile.TemporaryDirectory(prefix="sas-shape-") as folder,
        servers.cluster(),
        servers.postgresql() as database,
        servers.rabbitmq() as broker,
    ):
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.shape.settings",
            "SAS_RUN_DIR": folder,
            "DATABASE_URL": database,
            "BROKER_URL": broker,
            ledger.FILE: str(Path(folder, "ledger")),
            "SHAPE_CUSTOMERS": str(options.customers),
        }
        Path(folder, "ledger").touch()
        found = _run(Path(folder), Random(options.seed), options.seconds)
    print(json.dumps({"seed": options.seed, **found}))
    return int(bool(found["failings"]))


def _run(folder: Path, rng: Random, seconds: float) -> dict[str, Any]:
    import django

    django.setup()

    from django.core.management import call_command

    from tests.shape import story

    call_command("migrate", verbosity=0)
    strikes: dict[str, int] = {}
    with processes.fleet(folder, {}) as fleet:
        for role in COMMANDS:
            _start(fleet, role)
        began = time.monotonic()
        season = 0
        while (passed := time.monotonic() - began) < seconds:
            if season < SEASONS and passed >= season * seconds / SEASONS:
                story.season(season)
                season += 1
            name = rng.choice(sorted(STRIKES))
            strikes[name] = strikes.get(name, 0) + 1
            print(f"{passed:5.1f} s  {name}", file=sys.stderr, flush=True)
            STRIKES[name](fleet, rng)
            time.sleep(rng.uniform(0.5, 2.5))
        story.end()
        healed = time.monotonic()
        while story.open_processes() and time.monotonic() - healed < HEAL_SECONDS:
            time.sleep(0.5)
        took = time.monotonic() - healed
        calls = ledger.read(folder / "ledger")
        failings = story.failings(calls)
        if failings:
            for role in COMMANDS:
                print(f"--- {role}\n{fleet.log(role)[-3000:]}", file=sys.stderr)
        counts = story.counts(calls)
    return {"strikes": strikes, "healed_s": round(took, 1), **counts, "failings": failings[:MOST]}


def _start(fleet: Fleet, role: str) -> None:
    name = [] if role == "beat" else ["-n", f"{role}@%h"]
    fleet.start(role, "-m", "celery", "-A", "sasproject", *COMMANDS[role].split(), *name)


def _children(fleet: Fleet, role: str) -> list[int]:
    return processes.tree(fleet.running[role].pid)[1:]


def _kill_child(fleet: Fleet, rng: Random) -> None:
    if pids := _children(fleet, rng.choice(["agents1", "agents2", "scheduler1"])):
        _send(rng.choice(pids), signal.SIGKILL)


def _kill_worker(fleet: Fleet, rng: Random) -> None:
    """Kill a worker with its children, as a machine that dies, and start it again."""
    role = rng.choice([name for name in COMMANDS if name != "beat"])
    process = fleet.running[role]
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _start(fleet, role)


def _kill_parent(fleet: Fleet, rng: Random) -> None:
    """Kill a worker's parent alone: its children go on for a while."""
    role = rng.choice(["agents1", "agents2"])
    fleet.running[role].kill()
    fleet.running[role].wait()
    _start(fleet, role)


def _stop_worker(fleet: Fleet, rng: Random) -> None:
    role = rng.choice(["agents1", "agents2"])
    process = fleet.running[role]
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    _start(fleet, role)


def _freeze(fleet: Fleet, rng: Random) -> None:
    """Have a child sleep past its claims: it wakes as a zombie that still calls."""
    pids = _children(fleet, rng.choice(["agents1", "agents2"]))
    if not pids:
        return
    pid = rng.choice(pids)
    _send(pid, signal.SIGSTOP)
    time.sleep(rng.uniform(3, 6))
    _send(pid, signal.SIGCONT)


def _kill_beat(fleet: Fleet, rng: Random) -> None:
    fleet.running["beat"].kill()
    fleet.running["beat"].wait()
    _start(fleet, "beat")


def _send(pid: int, what: signal.Signals) -> None:
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        return


STRIKES: dict[str, Callable[[Fleet, Random], None]] = {
    "kill a child": _kill_child,
    "kill a worker": _kill_worker,
    "kill a parent": _kill_parent,
    "stop a worker": _stop_worker,
    "freeze a child": _freeze,
    "kill beat": _kill_beat,
}

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
