"""Guards of room: what is sent ahead, what a process takes, and when it takes no more."""

from tests.mutants.mutant import Mutant

_SHIFT = "tests/integration/test_shift.py"
_ROUNDS = "tests/integration/test_shift_rounds.py"
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
        "max(PAUSE_SECONDS, 4 * cost)",
        "0.0",
        "A process does nothing but wait for a broker that hangs.",
        (_SHIFT,),
    ),
    Mutant(
        "one taking answers all wake-ups of a look",
        _OF_SHIFT,
        "queue_drain.take_all(queue, dispatch.TAKE, MOST_WAKE_UPS)",
        "queue_drain.take_all(queue, dispatch.TAKE, 1)",
        "While wake-ups arrive faster than they are answered, each begins another taking.",
        (_ROUNDS,),
    ),
    Mutant(
        "a failed taking rests",
        _OF_SHIFT,
        "                self._due |= agents\n                self._rest(PAUSE_SECONDS)\n",
        "                self._due |= agents\n",
        "A process does nothing but wait for locks while its calls end.",
        (_ROUNDS,),
    ),
    Mutant(
        "a worker reports once its processes are there",
        "workers/agent/presence.py",
        '    requires = ("celery.worker.components:Pool",)\n',
        "",
        "Claims are sent, and their clocks run, while the worker still forks.",
        ("tests/integration/test_presence.py",),
    ),
    Mutant(
        "an answer is kept until the database has said no",
        _OF_SHIFT,
        "                self._kept[agent] = list(left)\n",
        "",
        "An outage of the database costs an unsafe step its answer.",
        (_ROUNDS,),
    ),
    Mutant(
        "a call that raises loses no other answer",
        "workers/agent/call_pool.py",
        "        if raised and not calls:",
        "        if raised:",
        "One call that exits takes along the answers of those that ended with it.",
        (_ROUNDS,),
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
        "if self._is_taken_alone or self.left(step.agent) <= 0:",
        "if self._is_taken_alone:",
        "A service gets more calls at once than go side by side.",
        (_SHIFT,),
    ),
    Mutant(
        "what may kill its process runs alone",
        _CLAIM,
        "(is_alone and (not self.is_idle or self._has_taken))",
        "False",
        "A call that kills its process takes others with it again and again.",
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
        "            monotonic() - self._began < self._taking_seconds\n            and ",
        "            ",
        "Whatever else waits for the process never gets its turn.",
        (_SHIFT,),
    ),
    Mutant(
        "a step whose call would outlast its task is not taken",
        _CLAIM,
        "is_late = step.timeout_seconds > self.seconds",
        "is_late = False",
        "Calls are cut off by the soft limit of the task that took them.",
        (_ROUNDS,),
    ),
    Mutant(
        "nothing is taken while something waits to run alone",
        _OF_SHIFT,
        "self._is_on() and not self._alone and (is_idle",
        "self._is_on() and (is_idle",
        "A serial call waits for ever behind calls that are taken meanwhile.",
        ("tests/integration/test_shift_leftovers.py",),
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
