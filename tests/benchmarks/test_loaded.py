"""What is counted of orders that come at a steady pace, whether they end or not."""

import itertools
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from benchmarks.processes import free_port
from benchmarks.regimes import client, service
from benchmarks.regimes.loaded import Looks, pace
from benchmarks.regimes.service import Counts
from tests.programs import until


def test_calls_are_counted_by_their_beginning_and_end():
    counts = Counts()
    counts.begin(1.0)
    counts.begin(2.0)
    counts.end(4.0)

    assert counts.told(6.0) == {
        "calls": 2, "now": 1, "most": 2, "at": 6.0,
        # One for a second, two for two, one for two.
        "call_seconds": 1 + 4 + 2,
    }  # fmt: skip


def test_a_service_counts_those_that_go_on_and_forgets_those_that_left(tmp_path, monkeypatch):
    port = free_port()
    monkeypatch.setenv(service.URL, f"http://127.0.0.1:{port}")
    served = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.regimes.service", str(port), "30"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert served.stdout is not None
        assert served.stdout.readline().strip() == service.READY
        call = threading.Thread(target=_call_and_leave, args=(port,))
        call.start()
        until(lambda: service.counts()["now"] == 1)
        call.join()
        until(lambda: service.counts()["now"] == 0)
        assert (service.counts()["calls"], service.counts()["most"]) == (1, 1)
    finally:
        served.kill()
        served.communicate()


def _call_and_leave(port: int) -> None:
    with pytest.raises(TimeoutError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}", b"{}", timeout=0.5)


def test_calls_at_once_are_the_average_of_the_second_half():
    looks = Looks()
    # Nothing for 10 s, then 30 at once; after the last arrival, at 20, nobody looks.
    looks._looks = [
        (at, {"at": at + 100, "call_seconds": max(0.0, 30.0 * (at - 10)), "most": 30})
        for at in (0.0, 5.0, 10.0, 15.0, 20.0, 40.0)
    ]

    assert looks.at_once(20.0) == 30.0
    assert looks.most == 30
    looks._looks = looks._looks[:1]
    assert looks.at_once(20.0) is None


def test_done_orders_are_counted_while_others_come_and_after():
    due = [0.0, 1.0, *(float(n) for n in range(2, 21))]
    # Two a second from 5 s to 10 s, one a second from then on.
    ended: list[float | None] = [
        *(5 + n / 2 for n in range(10)), *(10.0 + n for n in range(10)), 22.0
    ]  # fmt: skip

    found = pace(due, ended, 50.0)

    assert (found["orders"], found["ended"]) == (21, 21)
    assert found["done"] == [0, 2.0, 1.0, 1.0]
    assert (found["peak_per_second"], found["held_percent"]) == (2.0, 50.0)
    assert found["per_second"] == pytest.approx(21 / 22)
    assert found["drained_per_second"] == pytest.approx(1 / 2)
    assert (found["p50_s"], found["p95_s"]) == (0.5, 4.5)


def test_orders_without_an_end_count_as_none_until_it_was_given_up():
    found = pace([0.0, 5.0, 10.0, 15.0, 20.0], [3.0, 6.0, 18.0, None, None], 60.0)

    assert (found["ended"], found["per_second"]) == (3, pytest.approx(3 / 60))
    assert found["drained_per_second"] == 0
    assert (found["p50_s"], found["p95_s"]) == (8.0, None)


def test_nothing_done_at_all_held_nothing():
    found = pace([0.0, 20.0], [None, None], 60.0)

    assert (found["per_second"], found["held_percent"], found["p50_s"]) == (0, 0, None)


def test_the_last_order_comes_when_so_many_a_second_have_come():
    began = time.time()
    came = client.arrivals(30, 10)

    assert came[-1] == pytest.approx(began + 3, abs=0.5)
    assert came == sorted(came)
    gaps = {round(after - before, 6) for before, after in itertools.pairwise(came)}
    assert len(gaps) > 20, "they come by chance"
