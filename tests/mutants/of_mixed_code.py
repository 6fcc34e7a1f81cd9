"""Guards of workers of two codes side by side, and of the answers that may be outstanding."""

from tests.mutants.mutant import Mutant

_MIXED = "tests/integration/test_mixed_code.py"
_DEFERRED = "tests/integration/test_deferred_window.py"
_CLAIM = "workers/store/claims/claim_steps.py"
_FLOW = "workers/store/flow/flow_control.py"
_ROOM = "workers/rules/room.py"
_UNKNOWN = "workers/store/unknown_definitions.py"
_SETTLE = "workers/store/settle/carry_on.py"

MUTANTS = (
    Mutant(
        "what is not known holds up none behind it",
        _CLAIM,
        '        f" AND {dialect.among(due_steps.VERSION)} {due_steps.IN_TURN}"\n',
        '        f" AND ({dialect.among(due_steps.VERSION)} OR 1 = 1) {due_steps.IN_TURN}"\n',
        "A page of steps that only newer code knows keeps a worker from all others.",
        (_MIXED,),
    ),
    Mutant(
        "what is not known is not claimed as it becomes ready",
        _CLAIM,
        "if not known.is_known(process.workflow, process.version, agent):",
        "if False:",
        "A worker claims a step for which it cannot build the request.",
        (_MIXED,),
    ),
    Mutant(
        "only workers that know an agent have room for it",
        "workers/store/live_code.py",
        "if queue in queues and _can_call(code, agent)",
        "if queue in queues",
        "Claims are sent for more calls than the workers with the new agent can make.",
        (_MIXED,),
    ),
    Mutant(
        "a look passes on what it leaves",
        "workers/scheduler/look.py",
        "    waking.pass_on(now)\n",
        "",
        "What only newer code knows waits for that one's poll.",
        (_MIXED,),
    ),
    Mutant(
        "who knows all asks nothing",
        "workers/scheduler/waking.py",
        "if not worker_pulse.is_behind():",
        "if False:",
        "Each look and each settlement asks what others know.",
        (_MIXED,),
    ),
    Mutant(
        "a condition is left to who knows it",
        "workers/store/settle/conditions.py",
        "            process.needs_decision = True\n",
        "            pass\n",
        "A condition that only newer code knows waits until somebody finds its process still.",
        (_MIXED,),
    ),
    Mutant(
        "decisions for others are left to them",
        "workers/store/claims/find_work.py",
        "AND NOT {dialect.among(due_steps.VERSION)} AND NOT {unusable}",
        "AND (NOT {dialect.among(due_steps.VERSION)} OR 1 = 1) AND NOT {unusable}",
        "A worker without the code takes the flag from a process and decides nothing.",
        (_MIXED,),
    ),
    Mutant(
        "an end is left to who knows it",
        "workers/store/settle/end_processes.py",
        "        if _is_left_to_others(locked):",
        "        if False:",
        "An operator is told that a process cannot end, while a live worker can end it.",
        (_MIXED,),
    ),
    Mutant(
        "what a live worker knows is not told of",
        _UNKNOWN,
        "everywhere = live.known + known.own()",
        "everywhere = known.own()",
        "A rolling deployment raises an alert.",
        (_MIXED,),
    ),
    Mutant(
        "what was due just now is not told of",
        _UNKNOWN,
        "dialect.clock(at - timedelta(seconds=UNKNOWN_SECONDS))",
        "dialect.clock(at)",
        "A worker that is being restarted raises an alert.",
        (_MIXED,),
    ),
    Mutant(
        "answers outstanding are bounded",
        _ROOM,
        "        room = max(0, min(room, places))\n",
        "",
        "A service that answers later gets any number of jobs.",
        (_DEFERRED,),
    ),
    Mutant(
        "calls in flight may defer",
        _ROOM,
        "places = flow.deferred_window - flow.outstanding - flow.in_flight",
        "places = flow.deferred_window - flow.outstanding",
        "As many calls as the window allows defer at once, beyond the bound.",
        (_DEFERRED,),
    ),
    Mutant(
        "what has just been deferred counts",
        _SETTLE,
        "    locked_flow.free(freed, deferred)\n",
        "    locked_flow.free(freed)\n",
        "A settlement claims for the places that its own deferred calls take.",
        (_DEFERRED,),
    ),
)
