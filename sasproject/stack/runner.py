"""Runs a list of roles until it is stopped: starts, watches, restarts and ends them in order."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from sasproject.stack.console import Console
from sasproject.stack.exceptions import StackError
from sasproject.stack.folder import RunFolder
from sasproject.stack.keeper import Keeper
from sasproject.stack.role import Role

LOOK_SECONDS = 0.2
START_LOOK_SECONDS = 0.05
# How often `stack.json` is updated with the children that roles start and end themselves.
REFRESH_SECONDS = 1.0
# Deaths of a role before the stack is ready, after which the start fails.
DEATHS_AT_START = 3


class Runner:
    """Keeps the roles running in a background thread; every public method is thread-safe.

    That thread starts all processes and outlives them, see ``Child``.
    """

    def __init__(
        self,
        roles: Sequence[Role],
        folder: RunFolder,
        console: Console,
        *,
        start_timeout: float = 60.0,
        on_end: Iterable[Callable[[], None]] = (),
    ) -> None:
        self._keepers = {role.name: Keeper(role, folder, console) for role in roles}
        self._folder = folder
        self._console = console
        self._start_timeout = start_timeout
        self._on_end = tuple(on_end)
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._run, name="stack-runner", daemon=True)
        self._settled = threading.Event()
        self._done = threading.Event()
        self._failure: StackError | None = None
        self._published: dict[str, list[int]] = {}
        self._refreshed = 0.0
        # Plain attributes, because signal handlers set them: the interrupted thread may hold the
        # lock of an Event.
        self._stopping = False
        self._at_once = False

    def start(self) -> bool:
        """Start every role; True once all are ready, False if stopped before.

        Raises ``StackError``, with everything ended, if a role does not come up.
        """
        self._thread.start()
        self._settled.wait()
        if self._failure is not None:
            self.wait()
        return not self._done.is_set()

    def request_stop(self, *, at_once: bool = False) -> None:
        """Request the end of everything; safe in a signal handler."""
        self._stopping = True
        self._at_once = self._at_once or at_once

    def stop(self, *, at_once: bool = False) -> None:
        """End everything and wait for it; ``at_once`` allows no time to finish work."""
        self.request_stop(at_once=at_once)
        if self._thread.ident is not None:
            self.wait()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; True if it has come.  Raises the ``StackError`` that caused it."""
        has_ended = self._done.wait(timeout)
        if has_ended and self._failure is not None:
            raise self._failure
        return has_ended

    def pids(self, role: str) -> list[int]:
        """Return the role's current process ids, main process first; none while it is down."""
        with self._lock:
            return self._keepers[role].pids()

    def kill(self, role: str) -> None:
        """Kill the role's main process with SIGKILL."""
        with self._lock:
            self._keepers[role].kill()

    def _run(self) -> None:
        try:
            if self._bring_up():
                self._publish()
                self._settled.set()
                self._watch()
        except StackError as error:
            self._failure = error
        except Exception as error:
            self._failure = StackError(f"The stack's own runner failed: {error!r}")
            raise
        finally:
            try:
                self._bring_down()
            finally:
                self._settled.set()
                self._done.set()

    def _bring_up(self) -> bool:
        limit = time.monotonic() + self._start_timeout
        waiting: list[Keeper] = []
        for keeper in self._keepers.values():
            with self._lock:
                keeper.start()
            self._publish()
            waiting.append(keeper)
            if keeper.role.first and not self._until_ready(waiting, limit):
                return False
        return self._until_ready(waiting, limit)

    def _until_ready(self, waiting: list[Keeper], limit: float) -> bool:
        """Remove roles from ``waiting`` as they become ready; False if stopped before."""
        while not self._stopping:
            self._look()
            for keeper in [keeper for keeper in waiting if keeper.ready()]:
                waiting.remove(keeper)
                self._console.say(f"{keeper.role.name} up")
            if not waiting:
                return True
            for keeper in self._keepers.values():
                if keeper.deaths >= DEATHS_AT_START:
                    raise _not_up(keeper, f"died {keeper.deaths} times")
            if time.monotonic() > limit:
                raise _not_up(waiting[0], f"was not ready within {self._start_timeout:g} s")
            time.sleep(START_LOOK_SECONDS)
        return False

    def _watch(self) -> None:
        while not self._stopping:
            self._look()
            time.sleep(LOOK_SECONDS)

    def _look(self) -> None:
        with self._lock:
            changes = [keeper.look() for keeper in self._keepers.values()]
        if any(changes) or time.monotonic() - self._refreshed >= REFRESH_SECONDS:
            self._publish()

    def _publish(self) -> None:
        with self._lock:
            pids = {name: keeper.pids() for name, keeper in self._keepers.items()}
        self._refreshed = time.monotonic()
        if pids == self._published:
            return
        try:
            self._folder.publish({"stack": [os.getpid()], **pids})
            self._published = pids
        except OSError as error:  # a full disk must not end running processes
            self._console.say(f"stack.json is out of date: {error}")

    def _bring_down(self) -> None:
        stages = sorted({keeper.role.stage for keeper in self._keepers.values()})
        for stage in stages:
            self._end([k for k in self._keepers.values() if k.role.stage == stage])
        self._folder.withdraw()
        for keeper in self._keepers.values():
            keeper.log.close()
        for action in self._on_end:
            action()

    def _end(self, keepers: list[Keeper]) -> None:
        with self._lock:
            for keeper in keepers:
                keeper.terminate()
        limit = time.monotonic() + max(keeper.role.grace for keeper in keepers)
        while not self._at_once and time.monotonic() < limit:
            with self._lock:
                if all(keeper.has_ended() for keeper in keepers):
                    break
            time.sleep(START_LOOK_SECONDS)
        with self._lock:
            for keeper in keepers:
                keeper.reap()
        self._publish()


def _not_up(keeper: Keeper, problem: str) -> StackError:
    return StackError(
        f"{keeper.role.name} {problem}; the end of {keeper.log.path}:\n{keeper.log.tail()}"
    )
