"""The test kit for workflows: a wire in memory, and time that the test decides.

    def test_my_workflow(wire, clock):
        process = submit("my_workflow", subject="a test", input={})
        with scripted({"my.agent": [Unavailable("http_503", "busy"), dies, {"id": 1}]}):
            wire.run_until_settled(clock)
        assert_processed(process)

Messages are kept in a list instead of a broker, and the database's clock stands still until
the test moves it.  Everything else is the real thing: tasks, runtime, store, database.
Needs no test runner in particular.
"""

from workers.testing.assertions import (
    assert_invariants,
    assert_journal,
    assert_processed,
    assert_states,
    assert_undone,
    journal_text,
)
from workers.testing.clock import Clock, forget_duties, frozen_clock, pass_time
from workers.testing.mishaps import (
    broken_wire,
    delays,
    doubles,
    drops,
    overtakes,
    refuses,
    takes_and_refuses,
    unreliable_wire,
)
from workers.testing.scripts import (
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
    "Called",
    "Clock",
    "Sent",
    "Wire",
    "WorkerDied",
    "always",
    "assert_invariants",
    "assert_journal",
    "assert_processed",
    "assert_states",
    "assert_undone",
    "broken_wire",
    "delays",
    "dies",
    "doubles",
    "drops",
    "forget_duties",
    "frozen_clock",
    "is_late",
    "journal_text",
    "never_happened",
    "overtakes",
    "pass_time",
    "passes",
    "refuses",
    "runs",
    "runs_then_dies",
    "scripted",
    "takes_and_refuses",
    "unreliable_wire",
    "wired",
]
