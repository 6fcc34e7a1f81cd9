"""N6: how long what is over stays unnoticed."""

import threading
import time

from tests.chaos.observer import Away
from tests.chaos.run import Run
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.kills import KILLS
from tests.chaos.scenarios.scenario import Scenario, orders, share
from tests.chaos.stage import Stage, rhythm

LOOK_SECONDS = 0.25
LATEST_SECONDS = 4.0
#: What is past its end now, by how much: claims by their fence.
OVERDUE = """
SELECT claim_id::text, extract(epoch FROM now() - complete_by)
FROM workers_step WHERE state = 'processing' AND reply IS NULL AND complete_by < now()
"""


def n6(stage: Stage) -> list[Bound]:
    count = orders(stage, 600)
    seconds = max(30.0, 120 * count / 600)
    seen: dict[str, float] = {}

    def act(run: Run) -> None:
        ended = threading.Event()
        watch = threading.Thread(target=_watch, args=(run, seen, ended), daemon=True)
        watch.start()
        run.strike_and_wait()
        ended.set()
        watch.join(10)

    rhythms = {**KILLS, "lose": rhythm("lose", 3)}
    plan = stage.plan(tuple(rhythms), count, seconds, rhythms=rhythms, doors=("direct",),
                      rate=count / seconds / 0.9)  # fmt: skip
    stage.run("under-faults", plan, act)
    latest = share(list(seen.values()), 0.99)
    return [Bound("expired steps, noticed after complete-by (p99)", latest, LATEST_SECONDS, "s")]


def _watch(run: Run, seen: dict[str, float], ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            for claim, late in run.observer.rows(OVERDUE):
                seen[claim] = max(seen.get(claim, 0.0), round(float(late), 2))
        except Away:
            pass
        time.sleep(LOOK_SECONDS)


SCENARIOS = (
    Scenario("n6", "kills and lost messages: how soon they are noticed", n6, 600, ("postgresql",)),
)
