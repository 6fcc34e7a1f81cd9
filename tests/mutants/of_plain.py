"""Guards of what is settled by one statement: what it leaves to the other way."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_FILE = "workers/store/plain.py"
_TESTS = ("tests/integration/test_plain.py",)


def _plain(guard: str, old: str, new: str, prevents: str) -> Mutant:
    return Mutant(guard, _FILE, old, new, prevents, _TESTS, on=POSTGRESQL)


MUTANTS = (
    _plain(
        "replies of one process stay together",
        " AND b.ended = cardinality(o.ids)",
        "",
        "What follows a step is sent although another reply turns the order round.",
    ),
    _plain(
        "answers stay in their order",
        "WHERE g.is_away",
        "WHERE false",
        "A breaker opens for a service that answers most calls.",
    ),
    _plain(
        "an agent's write is not written over",
        "as_read = committing.must(",
        "as_read = str(",
        "The journal says that a step was processed whose row says otherwise.",
    ),
    _plain(
        "a paused order goes no further",
        "            AND r.paused_at IS NULL",
        "           ",
        "What an operator has paused goes on.",
    ),
    _plain(
        "conditions are asked",
        "NOT t.is_judged AND ",
        "",
        "A step is sent whose condition is false.",
    ),
    _plain(
        "doubt goes to an operator",
        " AND NOT t.is_in_doubt\n",
        "\n",
        "A call that must not be repeated is repeated.",
    ),
    _plain(
        "holds hold",
        "NOT EXISTS (SELECT 1 FROM workers_hold h WHERE h.ended_at IS NULL)",
        "true",
        "What operators hold is claimed.",
    ),
    _plain(
        "a rate is kept",
        " AND f.rate_per_second IS NULL",
        "",
        "A service is called more often than it allows.",
    ),
    _plain(
        "a window is kept",
        ' AND r.turn <= r."window" - r.left_in_flight',
        "",
        "A service has more calls at once than it bears.",
    ),
    _plain(
        "those that wait come first",
        " AND NOT r.is_backlogged AND",
        " AND",
        "An order that came later is served first.",
    ),
    Mutant(
        "large results are read anew",
        "workers/store/made.py",
        "COALESCE(max(e.size), 0) < 2000 AND ",
        "",
        "An agent is asked without a large result.",
        _TESTS,
        on=POSTGRESQL,
    ),
    Mutant(
        "orders are locked before they are read",
        "workers/store/rows.py",
        """ ORDER BY t.id {sql.lock_rows('t')}",""",
        ' ORDER BY t.id",',
        "An order goes on that an operator is pausing at that moment.",
        _TESTS,
        on=POSTGRESQL,
    ),
    _plain(
        "room is counted under its lock",
        "        flow.lock_foreseen(ids, now)\n",
        "",
        "Two schedulers send a service more than its window between them.",
    ),
)
