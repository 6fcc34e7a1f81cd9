"""Guards of room: what is sent ahead, what a process takes, and when it takes no more."""

from tests.mutants.mutant import Mutant

_SHIFT = "tests/integration/test_shift.py"
_SIBLINGS = "tests/integration/test_siblings.py"
_LIVE = "tests/integration/test_live_workers.py"
_LOST = "tests/integration/test_lost_answers.py"
_CALLS = "tests/unit/test_calls.py"
_FLOW = "workers/store/flow/flow_control.py"
_CLAIM = "workers/store/claims/claim_steps.py"
_OF_SHIFT = "workers/agent/shift.py"

MUTANTS = (
    Mutant(
        "a broker that hangs holds up no reply",
        "workers/wire/queue_drain.py",
        'limit = {"read_timeout": sas.reply_seconds}',
        "limit = {}",
        "Calls that have ended wait for the broker past their time, and count as failures.",
        (_SIBLINGS,),
    ),
    Mutant(
        "a broker that gives no answer is left alone for a while",
        _OF_SHIFT,
        "                        self._rest_seconds = PAUSE_SECONDS\n",
        "",
        "A process does nothing but wait for a broker that hangs.",
        (_SHIFT,),
    ),
    Mutant(
        "no more is sent than live workers can begin",
        _FLOW,
        "return max(0, min(room, self.capacity - self.in_flight + self.held_by_gone))",
        "return room",
        "Claims wait in a queue past their allowance and are sent again.",
        (_LIVE,),
    ),
    Mutant(
        "what vanished workers hold takes no room",
        _FLOW,
        "self.capacity - self.in_flight + self.held_by_gone",
        "self.capacity - self.in_flight",
        "After a worker's death the others get nothing until its calls expire.",
        (_LIVE,),
    ),
    Mutant(
        "a silent worker has no room",
        "workers/store/live_workers.py",
        'return f"{column} > {dialect.earlier(at, SEEN_SECONDS)}"',
        'return "1 = 1"',
        "Claims are sent to a worker that is frozen.",
        (_LIVE,),
    ),
    Mutant(
        "no more is taken than there is room for",
        _CLAIM,
        "if self.left(step.agent) <= 0 or dead_workers.is_suspect(step):",
        "if dead_workers.is_suspect(step):",
        "A service gets more calls at once than go side by side.",
        (_SHIFT,),
    ),
    Mutant(
        "what may kill its process is not taken",
        _CLAIM,
        "if self.left(step.agent) <= 0 or dead_workers.is_suspect(step):",
        "if self.left(step.agent) <= 0:",
        "A call that kills its process takes others with it again and again.",
        (_SHIFT,),
    ),
    Mutant(
        "what may kill its worker travels alone",
        "workers/scheduler/bundles.py",
        "yield from ([claim] for claim in group if claim.is_alone)",
        "yield [claim for claim in group if claim.is_alone]",
        "A call that kills its worker takes others with it again and again.",
        ("tests/integration/test_scheduler.py", "tests/integration/test_guards.py"),
    ),
    Mutant(
        "calls with a rate are counted by their message",
        _CLAIM,
        "not locked_flow.is_rated(agent) and own_room.take(step)",
        "own_room.take(step)",
        "A service is called faster than its rate.",
        (_SHIFT,),
    ),
    Mutant(
        "a process whose worker ends takes no more",
        _OF_SHIFT,
        "            and (self._pulse is None or self._pulse.is_beating())\n",
        "",
        "A worker that is stopped goes on taking until its calls are cut off.",
        (_SHIFT,),
    ),
    Mutant(
        "a process takes for a while",
        _OF_SHIFT,
        "            and monotonic() - self._began < self._taking_seconds\n",
        "",
        "Whatever else waits for the process never gets its turn.",
        (_SHIFT,),
    ),
    Mutant(
        "nothing is taken while something waits to run alone",
        _OF_SHIFT,
        "            and self._alone is None\n",
        "",
        "A serial call waits for ever behind calls that are taken meanwhile.",
        (_SHIFT,),
    ),
    Mutant(
        "a message without room goes back",
        _OF_SHIFT,
        "        if not self._calls.room(agent):\n            return False\n",
        "",
        "A full process takes messages that others could begin.",
        (_SHIFT,),
    ),
    Mutant(
        "what there is no room for is passed on",
        _OF_SHIFT,
        "        self._pass_on(bundle, rest)\n",
        "",
        "Claims wait for their allowance to pass before anybody begins them.",
        (_SHIFT,),
    ),
    Mutant(
        "what was started and not begun is given back",
        _OF_SHIFT,
        'release.unbegun(room.delivery, room.begun, me("agent"))',
        "pass",
        "A commit whose answer is lost costs each of its steps an attempt.",
        (_LOST,),
    ),
    Mutant(
        "what was begun is not given back",
        "workers/store/claims/release.py",
        "step_ids = {step_id for step_id, _ in rows} - set(called)",
        "step_ids = {step_id for step_id, _ in rows}",
        "A call that goes on is made a second time.",
        (_LOST,),
    ),
    Mutant(
        "no more threads than the agent says",
        "workers/agent/call_pool.py",
        "if lane.is_thread_starting or not lane.todo or lane.threads >= lane.width:",
        "if lane.is_thread_starting or not lane.todo:",
        "A service gets more calls at once than its agent says.",
        (_CALLS,),
    ),
    Mutant(
        "local agents have threads of their own",
        "workers/agent/call_pool.py",
        "pool = self._local_pool if lane.agent.is_local else self._pool",
        "pool = self._pool",
        "Each thread of an agent process keeps a database connection, until the server has none.",
        (_CALLS,),
    ),
    Mutant(
        "nobody waits for another agent's calls",
        "workers/agent/call_pool.py",
        "while any(self._lanes[name].left for name in names):",
        "while self._open:",
        "A quick call is answered when a slow one beside it has ended.",
        (_CALLS,),
    ),
)
