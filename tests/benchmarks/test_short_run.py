"""A tiny run of ours and of the raw chain, as `make bench` would start it."""

import json
import subprocess
import sys

import pytest

from benchmarks.processes import ROOT
from tests.services import POSTGRES, RABBITMQ, answers, missing

pytestmark = pytest.mark.slow


def test_forty_orders(tmp_path):
    if not (answers(POSTGRES) and answers(RABBITMQ)):
        missing("PostgreSQL and RabbitMQ are needed")
    output = tmp_path / "run.json"

    words = ["--quick", "--rounds", "1", "--orders", "40", "--cases", "filled"]
    words += ["--peers", "chain_solo", "--json", str(output), "--report", str(tmp_path / "page")]
    bench = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        said, progress = bench.communicate(timeout=240)
    finally:
        # Not killed: it drops the database and the virtual host that it has made.
        bench.terminate()
        bench.wait(60)

    assert bench.returncode == 0, progress
    found = json.loads(output.read_text())
    assert list(found["filled"]) == ["ours", "chain_solo"]
    assert all(one["per_second"] > 0 for one in found["filled"].values())
    assert [(one["name"], one["orders"]) for one in found["rounds"]] == [
        ("ours", 40),
        ("chain_solo", 40),
    ]
    assert (found["missing"], found["wrong"]) == ({}, [])
    assert "Celery chain, two solo workers" in said
    assert (tmp_path / "page" / "report.html").exists()
