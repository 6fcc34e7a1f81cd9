"""A run of which every deed is written down, and in which time passes by asking."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from sasproject.demo.ending import Ending
from sasproject.demo.figures import Figures
from sasproject.demo.voice import Voice


class FakeRun:
    """Stands in for ``Run``: ``until`` asks a few times and waits for nothing."""

    def __init__(self, roles: tuple[str, ...] = ("agents", "scheduler", "broker")) -> None:
        self.done: list[str] = []
        self.voice = Voice(None)
        self.ending = Ending()
        self.seed, self.began = 7, 0.0
        self.stack = SimpleNamespace(web_url="http://web", sandbox_url="http://sandbox")
        self.settled = False
        self.charging = True
        self.down: set[str] = set()
        self.faults = SimpleNamespace(
            is_payment_down=False,
            take_payment_down=lambda: self._payment("down", True),
            bring_payment_up=lambda: self._payment("up", False),
            clear=lambda: self.done.append("clear"),
            switch_on=lambda: self.done.append("faults"),
        )
        self.chaos = SimpleNamespace(
            roles=lambda: {role: [1] for role in roles},
            kill=self._kill,
            kill_a_worker=lambda: self.done.append("kill a worker") or "agents",
        )
        self.reviewer = SimpleNamespace(decide_oldest=self._decide)
        self.undecided = 0
        self.generator = SimpleNamespace(
            accepted=[],
            is_finished=False,
            start=lambda: self.done.append("start"),
            stop=lambda: self.done.append("stop"),
        )

    def _decide(self, *, accept: bool) -> bool:
        if not self.undecided:
            return False
        self.undecided -= 1
        self.done.append("accept" if accept else "decline")
        return True

    def review(self) -> None:
        while self.undecided:
            self._decide(accept=True)

    def _payment(self, word: str, is_down: bool) -> None:
        self.done.append(word)
        self.faults.is_payment_down = is_down

    def _kill(self, role: str) -> bool:
        if role in self.down:
            self.down.remove(role)
            return False
        self.done.append(f"kill {role} after {len(self.generator.accepted)}")
        return True

    def is_settled(self) -> bool:
        return self.settled

    def is_charging(self) -> bool:
        return self.charging

    def look(self) -> Figures:
        return Figures(placed=len(self.generator.accepted))

    def until(self, condition: Callable[[], bool], seconds: float, between: Any, **_: Any) -> bool:
        """Ask as often as it has seconds, up to a hundred times; an order comes each time."""
        for _ in range(min(int(seconds), 100)):
            if condition():
                return True
            between()
            self.generator.accepted.append(0)
        return condition()

    @property
    def said(self) -> list[str]:
        return [what for _, what in self.voice.messages]
