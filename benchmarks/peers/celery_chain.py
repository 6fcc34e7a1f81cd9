"""`python -m benchmarks.peers.celery_chain throughput 600`: the raw chain, measured."""

import sys
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.peers import celery_running

APP = "benchmarks.peers.chain_app"


def throughput(folder: Path, orders: str) -> dict[str, Any]:
    from benchmarks.peers.chain_app import SECONDS, submit

    return celery_running.throughput(folder, APP, int(orders), submit, is_threaded=SECONDS > 0)


def latency(folder: Path, orders: str) -> dict[str, float]:
    from benchmarks.peers.chain_app import submit

    return celery_running.latency(folder, APP, int(orders), submit)


if __name__ == "__main__":
    child.ensure_folder()
    child.serve({"throughput": throughput, "latency": latency}, sys.argv[1:])
