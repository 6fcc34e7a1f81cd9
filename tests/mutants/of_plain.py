"""Guards of what is settled by one statement: what it leaves to the other way."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_FILE = "workers/store/settle/settle_fast.py"
_FOLLOWING = "workers/store/settle/successors_fast.py"
_TESTS = ("tests/integration/test_plain.py",)


def _plain(guard: str, old: str, new: str, prevents: str) -> Mutant:
    return Mutant(guard, _FILE, old, new, prevents, _TESTS, on=POSTGRESQL)


def _following(guard: str, old: str, new: str, prevents: str) -> Mutant:
    tests = ("tests/integration/test_following.py", *_TESTS)
    return Mutant(guard, _FOLLOWING, old, new, prevents, tests, on=POSTGRESQL)


def _of_agent(guard: str, old: str, new: str, prevents: str) -> Mutant:
    """Of what all statements ask of an agent."""
    tests = (*_TESTS, "tests/integration/test_following.py", "tests/integration/test_taking.py")
    return Mutant(
        guard, "workers/store/flow/flow_control.py", old, new, prevents, tests, on=POSTGRESQL
    )


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
        "as_read = transactions.must(",
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
        "{nothing_held}",
        "true",
        "What operators hold is claimed.",
    ),
    _plain(
        "an agent that is not plain is left",
        "COALESCE({is_plain}\n",
        "COALESCE(true\n",
        "A breaker is told of no answer, and a rate of no claim.",
    ),
    _following(
        "a window is kept",
        " AND r.turn <= r.room",
        "",
        "A service has more calls at once than it bears.",
    ),
    _following(
        "those that wait come first",
        " AND NOT a.is_backlogged,",
        ",",
        "An order that came later is served first.",
    ),
    _following(
        "a hold that came meanwhile holds",
        "{nothing_held}",
        "true",
        "What operators have just held is claimed.",
    ),
    _following(
        "an agent that changed meanwhile is asked again",
        "this.is_free AND {is_plain} AS is_plain",
        "this.is_free AS is_plain",
        "A service that has just turned out to be away gets calls.",
    ),
    _of_agent(
        "a breaker that opened is open",
        "f.opened_at IS NULL AND f.open_until IS NULL",
        "true",
        "A service that is away gets calls.",
    ),
    _of_agent(
        "a breaker lets one through",
        "f.unavailable_streak = 0 AND ",
        "",
        "A service that was not reached just now gets all that waits.",
    ),
    _of_agent(
        "a rate is kept",
        " AND f.rate_per_second IS NULL",
        "",
        "A service is called more often than it allows.",
    ),
    _following(
        "an agent without a row holds nothing up",
        "LEFT JOIN agent a ON a.agent = s.agent",
        "JOIN agent a ON a.agent = s.agent",
        "A step of an agent whose row is gone waits for a poll that finds it standing still.",
    ),
    _following(
        "what was made ready is looked at again",
        " OR a.is_wanted AND NOT a.is_plain",
        "",
        "A step whose agent has changed just then waits for the next poll.",
    ),
    Mutant(
        "large results are read anew",
        "workers/store/claims/claim_fast_rows.py",
        "COALESCE(max(e.size), 0) < 2000 AND ",
        "",
        "An agent is asked without a large result.",
        _TESTS,
        on=POSTGRESQL,
    ),
    Mutant(
        "orders are locked before they are read",
        "workers/store/locked/load.py",
        """ ORDER BY t.id {dialect.lock_rows('t')}",""",
        ' ORDER BY t.id",',
        "An order goes on that an operator is pausing at that moment.",
        _TESTS,
        on=POSTGRESQL,
    ),
    _following(
        "room is counted under its lock",
        "    flow_control.lock_wanted()\n",
        "",
        "Two schedulers send a service more than its window between them.",
    ),
)
