"""The test kit for workflows: a wire in memory, and time that the test decides.

    def test_my_workflow(wire, clock):
        process = submit("my_workflow", subject="a test", input={})
        with scripted({"my.agent": [Unavailable("http_503", "busy"), dies, {"id": 1}]}):
            wire.run_until_settled(clock)
        assert_processed(process)

Messages are kept in a list instead of a broker, and the database's clock stands still until
the test moves it.  Everything else is real: tasks, runtime, store, database.
Works with any test runner.

    def test_my_workflow_survives(transactional_db, tmp_path):
        ledger = Ledger(tmp_path / "ledger")
        with scripted({"my.agent": [always(lambda call: ledger.act(call.key, call.step))]}):
            crash_everywhere(place_once, check, prepare=ledger.clear)

kills a process at every point of the workflow, and has another process recover.
"""

from workers.testing.agent_processes import CALL, REPLY
from workers.testing.assertions import (
    assert_invariants,
    assert_journal,
    assert_processed,
    assert_states,
    assert_undone,
    journal_text,
)
from workers.testing.clock import Clock, forget_duties, frozen_clock, pass_time
from workers.testing.crashes import Rehearsal, Survey, crash_everywhere, rehearse
from workers.testing.faults import (
    broken_wire,
    delays,
    doubles,
    drops,
    overtakes,
    refuses,
    takes_and_refuses,
    unreliable_wire,
)
from workers.testing.ledger import Ledger
from workers.testing.reset_db import flush
from workers.testing.result import OF_AN_ATTEMPT, Aftermath, Crash, Told
from workers.testing.scripted_agents import (
    Called,
    WorkerDied,
    always,
    dies,
    is_late,
    never_happened,
    runs,
    runs_then_dies,
    scripted,
)
from workers.testing.wire import Sent, Wire, passes, wired

__all__ = [
    "CALL",
    "OF_AN_ATTEMPT",
    "REPLY",
    "Aftermath",
    "Called",
    "Clock",
    "Crash",
    "Ledger",
    "Rehearsal",
    "Sent",
    "Survey",
    "Told",
    "Wire",
    "WorkerDied",
    "always",
    "assert_invariants",
    "assert_journal",
    "assert_processed",
    "assert_states",
    "assert_undone",
    "broken_wire",
    "crash_everywhere",
    "delays",
    "dies",
    "doubles",
    "drops",
    "flush",
    "forget_duties",
    "frozen_clock",
    "is_late",
    "journal_text",
    "never_happened",
    "overtakes",
    "pass_time",
    "passes",
    "refuses",
    "rehearse",
    "runs",
    "runs_then_dies",
    "scripted",
    "takes_and_refuses",
    "unreliable_wire",
    "wired",
]
