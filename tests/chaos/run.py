"""One run: everything is started, hurt, left to heal, and judged."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos import backend as backends
from tests.chaos import books, verdict, witness
from tests.chaos.accepted import Register
from tests.chaos.chronicle import Chronicle
from tests.chaos.doors import DOORS, Door
from tests.chaos.doors.purchases import purchase
from tests.chaos.doors.queue import QueueDoor
from tests.chaos.faults import FORGETFUL, Fault, Scene, TooLate
from tests.chaos.observer import FINAL, Away, Observer
from tests.chaos.schedule import Rhythm, Strike, plan
from tests.chaos.system import System
from tests.chaos.verdict import Verdict

LATE_ORDERS = 3
HEAL_SECONDS = 120.0
#: A relay that was killed has what it was about to tell for a minute.
STATUS_SECONDS = 100.0
LOOK_SECONDS = 0.25
STRIKE_SECONDS = 120.0


@dataclass(frozen=True)
class Plan:
    """What is to be done in a run."""

    pair: str
    seed: int
    seconds: float
    faults: tuple[Fault, ...]
    orders: int
    #: Orders a second, all doors together; without it as fast as they are accepted.
    rate: float | None = None
    doors: tuple[str, ...] = ("direct", "http", "queue")
    #: The faults end as soon as every order has.
    until_done: bool = False
    heal_seconds: float = HEAL_SECONDS
    #: Fault -> another rhythm than its own.
    rhythms: dict[str, Rhythm] = field(default_factory=dict)
    #: Makes every pause so much longer.
    pauses: float = 1.0
    settings: dict[str, str] = field(default_factory=dict)

    def strikes(self) -> list[Strike]:
        rhythms = [self.rhythms.get(fault.name, fault.rhythm()) for fault in self.faults]
        stretched = [rhythm.stretched(self.pauses) for rhythm in rhythms]
        return plan(self.seed, self.seconds, stretched)


@dataclass
class Outcome:
    """A run that is over."""

    plan: Plan
    chronicle: Chronicle
    verdict: Verdict
    register: Register
    #: The journal's rows by event.
    events: dict[str, int]
    #: Calls that the services got beyond one for each effect: repeated, and absorbed.
    repeated_calls: int
    #: Calls that a switch of the services struck, by switch.
    spoiled: Mapping[str, int]
    #: When the faults ended, and when everything was at rest, since the run began.
    faults_ended: float
    at_rest: float | None

    @property
    def last_mark(self) -> float:
        return max((mark.began for mark in self.chronicle.marks), default=0.0)


class Run:
    """A run under way."""

    def __init__(self, plan: Plan, folder: Path, tell: Callable[[str], None]) -> None:
        self.plan, self.folder, self.tell = plan, folder, tell
        self.chronicle = Chronicle()
        self.stage = "starting"
        self.register = Register(folder / "accepted.jsonl")
        self.doors: dict[str, Door] = {}
        self._threads: list[threading.Thread] = []
        self._troubles: list[str] = []

    def play(self, act: Callable[["Run"], None] | None = None) -> Outcome:
        """Play it to its end.  ``act`` is done in place of waiting for the time to be over."""
        with ExitStack() as stack:
            faults = self.plan.faults
            self.tell(f"starting {self.plan.pair} in {self.folder}")
            backend = stack.enter_context(
                backends.running(
                    self.plan.pair,
                    self.folder,
                    self.chronicle,
                    with_proxies=any(fault.by_proxy for fault in faults),
                    small_disks=frozenset(fault.small_disk for fault in faults),
                )
            )
            self.system = System(backend, self.chronicle, self.plan.settings)
            self.system.prepare()
            stack.callback(self.system.end)
            self.system.start()
            stack.callback(self.register.close)
            self.observer = Observer(self.system, self.chronicle, self.register)
            stack.callback(self.observer.end)
            for name in self.plan.doors:
                self.doors[name] = DOORS[name](self.system, self.register)
                stack.callback(self.doors[name].close)
            self.scene = Scene(self.system, self.chronicle, threading.Event(), self.doors)
            stack.callback(self.scene.ending.set)
            return self._play(act or Run.strike_and_wait)

    def _play(self, act: Callable[["Run"], None]) -> Outcome:
        self.chronicle.begin()
        self.observer.start()
        self.stage = "faults strike" if self.plan.faults else "no faults"
        self.tell(f"{self.plan.orders} orders come in")
        self._place(0, self.plan.orders, self.plan.rate)
        act(self)
        ended = self.chronicle.now()
        self.stage = "healing"
        self.tell("the faults end; everything may heal")
        self._end_faults()
        self._place_late()
        is_healed = self._until_at_rest(self.plan.heal_seconds)
        at_rest = self.chronicle.now() if is_healed else None
        self.stage = "judging"
        self.tell("at rest" if is_healed else "NOT at rest in the time for healing")
        return self._judge(is_healed, ended, at_rest)

    def strike_and_wait(self) -> None:
        """Let the faults strike as planned until the time is over."""
        strikes = self.plan.strikes()
        faults = {fault.name: fault for fault in self.plan.faults}
        while (now := self.chronicle.now()) < self.plan.seconds:
            while strikes and strikes[0].at <= now:
                strike = strikes.pop(0)
                self.start_strike(faults[strike.fault], strike)
            if self.plan.until_done and self.is_done():
                return
            time.sleep(LOOK_SECONDS)

    def start_strike(self, fault: Fault, strike: Strike) -> None:
        thread = threading.Thread(
            target=self._strike, args=(fault, strike), name=f"strike-{fault.name}", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def is_done(self) -> bool:
        """Say whether every order that was to be placed is accepted and at rest."""
        return all(door.is_done for door in self.doors.values()) and self.observer.is_at_rest()

    def _strike(self, fault: Fault, strike: Strike) -> None:
        try:
            fault.strike(self.scene, strike)
        except TooLate:
            return
        except Exception as error:
            # A fault that cannot be done or undone is our own failure, and must be seen.
            self._troubles.append(f"{fault.name} went wrong: {type(error).__name__}: {error}")

    def _end_faults(self) -> None:
        self.scene.ending.set()
        end = time.monotonic() + STRIKE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                self._troubles.append(f"{thread.name} did not end in {STRIKE_SECONDS:g} s")
        for server in self.system.backend.servers.values():
            server.mend()

    def _place(self, first: int, count: int, rate: float | None) -> None:
        doors = list(self.doors.values())
        for place, door in enumerate(doors):
            numbers = range(first + place, first + count, len(doors))
            share = rate / len(doors) if rate else None
            door.place([purchase(self.plan.seed, number) for number in numbers], share)

    def _place_late(self) -> None:
        """Place a few more by every door: what healed must work, not merely be quiet."""
        for door in self.doors.values():
            door.is_late = True
        self._place(self.plan.orders, LATE_ORDERS * len(self.doors), None)

    def _until_at_rest(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.is_done():
                return True
            time.sleep(LOOK_SECONDS)
        return False

    def _judge(self, is_healed: bool, ended: float, at_rest: float | None) -> Outcome:
        checked = self._check()
        seen = witness.ask(self.system.sandbox_url, self.system.run_dir / "mail")
        wanted = self.plan.orders + LATE_ORDERS * len(self.doors)
        strikes = self.chronicle.strikes()
        facts = verdict.Facts(
            accepted=self.register.orders(),
            refused=self.register.refused,
            unanswered=wanted - len(self.register) - len(self.register.refused),
            orders=self._orders(),
            doubled=seen.doubled(),
            violations=[f"{row['subject']}: {row['wrong']}" for row in checked["violations"]],
            with_ledgers=checked["ledgers"],
            unexplained=self._unexplained(),
            is_healed=is_healed,
            strikes={fault.name: strikes.get(fault.name, 0) for fault in self.plan.faults},
            untold=self._untold(),
            damages=self.observer.damages(),
            missed=self._troubles,
        )
        try:
            events = self.observer.events()
        except Away:
            events = {}
        return Outcome(
            self.plan,
            self.chronicle,
            verdict.judge(facts),
            self.register,
            events,
            seen.calls - seen.effects,
            seen.struck,
            ended,
            at_rest,
        )

    def _check(self) -> dict:
        printed = self.system.manage("check_invariants", "--json", check=False)
        try:
            found: dict = json.loads(printed.strip().splitlines()[-1])
        except (ValueError, IndexError):
            wrong = f"check_invariants said {printed[-300:]!r}"
            return {"violations": [{"subject": "check", "wrong": wrong}], "ledgers": False}
        return found

    def _orders(self) -> dict[int, tuple[str, bool]]:
        try:
            return self.observer.orders()
        except Away:
            # Then every accepted order is lost, which is what a shop without its tables has.
            return {}

    def _unexplained(self) -> list[str]:
        try:
            return books.unexplained(self.observer.rows, self.system.sandbox_url)
        except Away as error:
            return [f"the shop's rows cannot be read: {error}"]

    def _untold(self) -> list[str]:
        """Return the orders whose statuses have a gap, unless a fault may take them."""
        door = self.doors.get("queue")
        if not isinstance(door, QueueDoor) or FORGETFUL & {f.name for f in self.plan.faults}:
            return []
        mine = [order.number for order in self.register.orders() if order.door == "queue"]
        end = time.monotonic() + STATUS_SECONDS
        while (gaps := door.gaps(mine, FINAL)) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        return gaps
