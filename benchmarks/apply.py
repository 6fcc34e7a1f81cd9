"""How fast one process applies replies: `python -m benchmarks.apply 2000 100`."""

import json
import os
import sys
import tempfile
import time
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
os.environ.setdefault("SAS_LOG_LEVEL", "WARNING")


PROFILE = None


def main(orders: int, batch: int) -> dict[str, Any]:
    """Return steps a second: a reply taken, its step settled, the next one claimed."""
    from django.core.management import call_command
    from django.db import connection, transaction

    from workers import dispatch
    from workers.messages import Reply
    from workers.models import Flow, Process
    from workers.store import claims, settling
    from workers.submission import submit

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE workers_process CASCADE")
    Flow.objects.update(window=100_000)
    dispatch.nudge_later = lambda: None
    for _ in range(0, orders, 100):
        with transaction.atomic():
            for number in range(100):
                submit("bench_line", subject=f"order {number}", input={})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    taken: list[claims.Claim] = []
    agents = {"bench.first", "bench.second", "bench.third", "bench.fourth"}
    while found := claims.claim_due(agents, "bench"):
        taken += found
    if PROFILE:
        PROFILE.enable()
    steps, began, cpu = 0, time.perf_counter(), time.process_time()
    while taken:
        following: list[claims.Claim] = []
        for begin in range(0, len(taken), batch):
            replies = [
                Reply(one.step_id, one.claim_id, one.attempt, result={})
                for one in taken[begin : begin + batch]
            ]
            settled = settling.settle(replies, "bench")
            assert settled.applied == len(replies)
            following += settled.claims
            steps += len(replies)
        taken = following
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    if PROFILE:
        PROFILE.disable()
    assert Process.objects.filter(state="processed").count() == orders
    assert steps == 4 * orders
    return {
        "steps_per_second": steps / seconds,
        "cpu_us_per_step": 1e6 * cpu / steps,
    }


if __name__ == "__main__":
    import django

    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        os.environ["SAS_RUN_DIR"] = name
        django.setup()
        if "-p" in sys.argv:
            import cProfile
            import pstats

            profile = PROFILE = cProfile.Profile()
            print(main(int(sys.argv[1]), int(sys.argv[2])))
            pstats.Stats(profile).sort_stats(sys.argv[4]).print_stats("workers|django.db|json", 60)
        else:
            print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
