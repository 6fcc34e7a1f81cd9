"""Where runs are played one after the other, each in a folder of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos.faults import CATALOGUE
from tests.chaos.options import RATE, SECONDS, Options
from tests.chaos.progress import Progress
from tests.chaos.run import Outcome, Plan, Run
from tests.chaos.schedule import Rhythm


class Stage:
    """The runs of one invocation."""

    def __init__(self, options: Options, folder: Path, progress: Progress) -> None:
        self.options, self.folder, self.progress = options, folder, progress
        self.outcomes: list[tuple[str, Outcome]] = []
        #: Why a fault that was asked for was left out.
        self.left_out: list[str] = []

    def usual(self) -> Plan:
        """Return the plan that the options alone describe."""
        seconds = self.options.seconds or SECONDS
        orders = self.options.orders or round(seconds * RATE)
        # All of them have come by the time the last fault strikes.
        return self.plan(self.options.faults, orders, seconds, rate=orders / seconds / 0.9)

    def plan(self, faults: tuple[str, ...], orders: int, seconds: float, **more: Any) -> Plan:
        """Return a plan with the invocation's seed and pair; what cannot strike is left out."""
        able = []
        for name in faults:
            if why := CATALOGUE[name].why_not(self.options.pair):
                self.left_out.append(why)
                self.progress.say(f"left out: {why}")
            else:
                able.append(CATALOGUE[name])
        more.setdefault("pauses", self.options.pauses)
        more.setdefault("doors", self.options.doors)
        more.setdefault("heal_seconds", self.options.heal_seconds)
        return Plan(self.options.pair, self.options.seed, seconds, tuple(able), orders, **more)

    def run(self, title: str, plan: Plan, act: Callable[[Run], None] | None = None) -> Outcome:
        """Play a run to its end."""
        folder = self.folder / title
        folder.mkdir(mode=0o711)
        self.progress.say(f"{title}: seed {plan.seed}, {plan.orders} orders, {plan.pair}")
        run = Run(plan, folder, self.progress.say)
        self.progress.follow(run)
        try:
            outcome = run.play(act)
        finally:
            self.progress.leave()
        self.outcomes.append((title, outcome))
        return outcome


def rhythm(fault: str, every: float, lasts: tuple[float, float] = (0.0, 0.0)) -> Rhythm:
    """Return a steady rhythm, a fifth more or less."""
    return Rhythm(fault, (every * 0.8, every * 1.2), lasts)
