"""Who does what to which order: drawn from the seed, aimed at calls that are under way."""

import json
import subprocess
import sys
import threading
import time
import urllib.error
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from tests.chaos import witness
from tests.chaos.doors.http import call
from tests.chaos.observer import Away, Observer
from tests.chaos.system import ROOT, System

#: Seconds between two acts of one person.
PAUSE_SECONDS = (0.5, 1.5)
#: How long an order stays paused.
HELD_SECONDS = 2.0
OPERATORS = 2

_STEPS = (
    "SELECT o.number, p.id, s.name, s.idempotency_key, o.public_id, o.source FROM workers_step s"
    " JOIN workers_process p ON p.id = s.process_id JOIN orders_order o ON o.process_id = p.id"
)
#: Whom an act is aimed at.
AT_WORK = f"{_STEPS} WHERE s.state = 'processing' AND s.started_at IS NOT NULL"
IN_ERROR = f"{_STEPS} WHERE p.state = 'error' AND s.state = 'error'"
UNDONE = f"{_STEPS} WHERE p.state IN ('cancelled', 'compensated') AND s.undoes_id IS NULL"
PAUSED = f"{_STEPS} WHERE p.paused_at IS NOT NULL AND s.position = 0"

#: What an operator does, how often, and to whom.
OPERATOR: dict[str, tuple[int, str]] = {
    "cancel": (2, AT_WORK),
    "compensate": (1, AT_WORK),
    "pause": (2, AT_WORK),
    "answer": (4, AT_WORK),
    "event": (3, AT_WORK),
    "answer-late": (1, UNDONE),
    "event-late": (1, UNDONE),
    "resubmit": (4, IN_ERROR),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A step of an order."""

    number: int
    process: int
    step: str
    key: str
    public_id: str
    source: str


class People:
    """Two operators and a client, each a thread; ``end`` lets go on what they paused."""

    def __init__(self, system: System, observer: Observer, seed: int) -> None:
        self._system, self._observer = system, observer
        self._ended = threading.Event()
        self._lock = threading.Lock()
        #: (act, whether it was taken) -> how often.
        self.acts: Counter[tuple[str, bool]] = Counter()
        lives = [(f"operator-{n}", self._operate) for n in range(OPERATORS)]
        lives.append(("client", self._be_client))
        self._threads = [
            threading.Thread(target=life, args=(Random(f"{seed} {name}"),), name=name, daemon=True)
            for name, life in lives
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def taken(self) -> int:
        """Return how many acts were not refused."""
        with self._lock:
            return sum(count for (_, is_taken), count in self.acts.items() if is_taken)

    def _operate(self, random: Random) -> None:
        with Desk(self._system) as desk:
            held: dict[int, float] = {}
            while not self._ended.wait(random.uniform(*PAUSE_SECONDS)):
                self._let_go(desk, held, time.monotonic() - HELD_SECONDS)
                weights = [weight for weight, _ in OPERATOR.values()]
                (name,) = random.choices(list(OPERATOR), weights)
                target = self._choose(OPERATOR[name][1], random)
                if target is None:
                    continue
                verb = name.partition("-")[0]
                yes = self._has_effect(target) if verb == "event" else random.random() < 0.5
                if self._note(name, desk.act(verb, target, yes=yes)) and name == "pause":
                    held[target.number] = time.monotonic()
            self._let_go(desk, held, time.monotonic())
            for target in self._look(PAUSED):
                desk.act("resume", target)

    def _let_go(self, desk: "Desk", held: dict[int, float], until: float) -> None:
        for target in self._look(PAUSED) if held else []:
            if held.get(target.number, until + 1) <= until:
                del held[target.number]
                self._note("resume", desk.act("resume", target))

    def _be_client(self, random: Random) -> None:
        while not self._ended.wait(random.uniform(*PAUSE_SECONDS)):
            target = self._choose(f"{AT_WORK} AND o.source IN ('api', 'queue')", random)
            if target is None:
                continue
            try:
                call(self._system, "POST", f"/api/v1/orders/{target.public_id}/cancel")
            except urllib.error.HTTPError:
                self._note("client-cancel", False)
            except (OSError, ValueError):
                continue
            else:
                self._note("client-cancel", True)

    def _has_effect(self, target: Target) -> bool:
        """Say whether a service did what the step asks: an event tells the truth."""
        try:
            ledgers = witness.ledgers(self._system.sandbox_url).values()
        except OSError:
            return False
        return any(one["key"] == target.key for ledger in ledgers for one in ledger["effects"])

    def _choose(self, sql: str, random: Random) -> Target | None:
        found = self._look(sql)
        return random.choice(found) if found else None

    def _look(self, sql: str) -> list[Target]:
        try:
            rows = self._observer.rows(sql)
        except Away:
            return []
        # SQLite keeps it without its hyphens.
        return [Target(*row[:4], str(UUID(str(row[4]))), row[5]) for row in rows]

    def _note(self, act: str, is_taken: bool) -> bool:
        with self._lock:
            self.acts[act, is_taken] += 1
        return is_taken


class Desk:
    """The process at which one operator acts."""

    def __init__(self, system: System) -> None:
        with system.log_of("desk").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.people.desk_process"],
                cwd=ROOT,
                env=system.env(past_proxies=True),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def __enter__(self) -> "Desk":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(10)

    def act(self, verb: str, target: Target, *, yes: bool = True) -> bool:
        """Do it.  False: it was refused."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked: dict[str, Any] = {"verb": verb, "number": target.number, "process": target.process}
        self._process.stdin.write(json.dumps({**asked, "step": target.step, "yes": yes}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        return "done" in json.loads(answer)
