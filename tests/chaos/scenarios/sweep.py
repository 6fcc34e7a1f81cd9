"""N14: a sweep over a large store."""

import json

from tests import programs
from tests.chaos import backend as backends
from tests.chaos.chronicle import Chronicle
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.scenario import Scenario, orders
from tests.chaos.stage import Stage
from tests.chaos.system import NotUp, System

OPEN, EXPIRED = 100_000, 1000
FILL_SECONDS = 1200
LONGEST_SECONDS = 2.0


def n14(stage: Stage) -> list[Bound]:
    """Sweep a thousand expired steps out of a hundred thousand; nothing else runs."""
    open_ones = orders(stage, OPEN)
    expired = max(1, EXPIRED * open_ones // OPEN)
    chronicle = Chronicle()
    folder = stage.folder / "large-store"
    folder.mkdir(mode=0o711)
    with backends.running(stage.options.pair, folder, chronicle, with_proxies=False) as backend:
        system = System(backend, chronicle)
        system.prepare()
        stage.progress.say(f"filling the store with {open_ones} open orders")
        words = ["-m", "tests.chaos.scenarios.large_store", str(open_ones), str(expired)]
        done = programs.python(*words, env=system.env(), seconds=FILL_SECONDS)
        if done.returncode:
            raise NotUp(f"the store was not filled: {done.stderr[-2000:]}")
    swept = json.loads(done.stdout.splitlines()[-1])
    return [
        Bound("expired steps that were reset", swept["reset"], expired, "", is_floor=True),
        Bound(f"a sweep with {open_ones} open orders", round(swept["seconds"], 2), LONGEST_SECONDS,
              "s"),
    ]  # fmt: skip


SCENARIOS = (Scenario("n14", "a sweep of 1,000 expired among 100,000 open orders", n14, OPEN),)
