"""Agents that take their time, or their process with them, as their payload says."""

import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

from django.conf import settings

from workers.definitions.agent import Agent, Call, Effect, LocalAgent
from workers.definitions.registry import register_agent

ROOM_BYTES = 100 * 1024 * 1024
#: With it a child is larger than ``CELERY_WORKER_MAX_MEMORY_PER_CHILD`` allows.
LARGE_BYTES = 450 * 1024 * 1024


def _note(agent: Agent, call: Call) -> None:
    """Leave a line that outlives the process: a call was begun, and by whom."""
    with (Path(settings.RUN_DIR) / "calls.log").open("a") as lines:
        lines.write(f"{agent.name} {call.attempt} {time.time():.3f} {call.key} {os.getpid()}\n")


class Waiting(Agent):
    """Waits for as long as the payload says; on a first attempt only, where that says so."""

    def run(self, call: Call) -> dict[str, Any]:
        _note(self, call)
        if call.attempt == 1 or not call.payload.get("first_only"):
            end = time.monotonic() + call.payload.get("seconds", 0)
            while time.monotonic() < end and call.deadline.remaining() > 0:
                time.sleep(0.05)
        return {"attempt": call.attempt}


@register_agent
class Quick(Waiting):
    name = "box.quick"


@register_agent
class Metered(Waiting):
    """Its service bans who calls more often than it allows."""

    name = "box.metered"
    rate = 2


@register_agent
class Slow(Waiting):
    """Has a queue, and with it workers, of its own."""

    name = "box.slow"
    queue = "box.slow"
    bundle_limit = 1


@register_agent
class Unsafe(Waiting):
    name = "box.unsafe"
    effect = Effect.UNSAFE


@register_agent
class Local(LocalAgent):
    name = "box.local"

    def run(self, call: Call) -> dict[str, Any]:
        from django.contrib.auth.models import Group

        _note(self, call)
        Group.objects.create(name=call.key)
        if call.attempt == 1:
            time.sleep(call.payload.get("seconds", 0))
        return {}


@register_agent
class Deadly(Agent):
    """Ends the process that calls it, as a segmentation fault would, unless it is spared."""

    name = "box.deadly"

    def run(self, call: Call) -> dict[str, Any]:
        _note(self, call)
        if not call.payload.get("spare"):
            os._exit(1)
        return {}


@register_agent
class Hungry(Agent):
    """Takes more memory than there is at its first call, and what then happens is asked for.

    ``killed``: the kernel ends the process.  ``refused``: the process gets no more.  ``swollen``:
    there was enough, and the process is larger than it may stay.
    """

    name = "box.hungry"

    def run(self, call: Call) -> dict[str, Any]:
        _note(self, call)
        if call.attempt == 1:
            getattr(self, f"_is_{call.payload['how']}")()
        return {"attempt": call.attempt}

    def _is_killed(self) -> None:
        # What the kernel does to whom it chooses.
        os.kill(os.getpid(), signal.SIGKILL)

    def _is_refused(self) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + ROOM_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        bytearray(2 * ROOM_BYTES)

    def _is_swollen(self) -> None:
        # Every page is written: what is only asked for takes no memory.
        bytearray(b"x" * LARGE_BYTES)
