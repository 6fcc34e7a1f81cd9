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
#: What is past its timer now, by how much: claims by their fence.
OVERDUE = """
SELECT claim_id::text || coalesce(dispatch_by::text, ''), started_at IS NOT NULL,
       extract(epoch FROM now() - coalesce(complete_by, dispatch_by))
FROM workers_step WHERE state = 'processing' AND reply IS NULL
AND coalesce(complete_by, dispatch_by) < now()
"""


def n6(stage: Stage) -> list[Bound]:
    count = orders(stage, 600)
    seconds = max(30.0, 120 * count / 600)
    seen: dict[bool, dict[str, float]] = {True: {}, False: {}}

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
    started, unstarted = (
        share(list(seen[is_started].values()), 0.99) for is_started in (True, False)
    )
    return [
        Bound("expired steps, noticed after complete-by (p99)", started, LATEST_SECONDS, "s"),
        Bound("lost messages, noticed after the allowance (p99)", unstarted, LATEST_SECONDS, "s"),
    ]


def _watch(run: Run, seen: dict[bool, dict[str, float]], ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            for claim, is_started, late in run.observer.rows(OVERDUE):
                known = seen[bool(is_started)]
                known[claim] = max(known.get(claim, 0.0), round(float(late), 2))
        except Away:
            pass
        time.sleep(LOOK_SECONDS)


SCENARIOS = (
    Scenario("n6", "kills and lost messages: how soon they are noticed", n6, 600, ("postgresql",)),
)
