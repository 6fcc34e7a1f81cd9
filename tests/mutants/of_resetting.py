"""Guards of the statement that resets expired steps where their rows are."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_EXPIRY = "workers/store/expire/expire_claims.py"
_RESETTING = "workers/store/expire/expire_fast.py"
_TESTS = ("tests/integration/test_resetting.py",)


def _mutant(guard: str, old: str, new: str, prevents: str, *tests: str) -> Mutant:
    return Mutant(guard, _RESETTING, old, new, prevents, tests or _TESTS, on=POSTGRESQL)


MUTANTS = (
    _mutant(
        "a last attempt is not reset",
        "s.failure_count + 1 < s.failure_threshold",
        "s.failure_count < s.failure_threshold",
        "A step that fails each time is tried without end.",
    ),
    _mutant(
        "time for all attempts is decided row by row",
        " AND s.total_seconds IS NULL",
        "",
        "A step is tried beyond the time for all its attempts.",
    ),
    _mutant(
        "what nobody answered is decided row by row",
        "                AND s.deferral IS NULL AND p.outcome IS NULL\n",
        "                AND p.outcome IS NULL\n",
        "What may be asked only once is asked again.",
    ),
    _mutant(
        "on the way back nothing forward is reset",
        "                AND s.deferral IS NULL AND p.outcome IS NULL\n",
        "                AND s.deferral IS NULL\n",
        "A cancelled order goes on charging.",
    ),
    _mutant(
        "a filed reply saves its step",
        " AND s.reply IS NULL",
        "",
        "A reply that is filed while its claim is expired is thrown away.",
    ),
    _mutant(
        "only what has expired is reset at once",
        "s.complete_by < this.due",
        "s.claimed_at < this.due",
        "A call under way is made a second time.",
    ),
    _mutant(
        "what is reset at once may have had its effect",
        "is_in_doubt = t.may_have_effect",
        "is_in_doubt = false",
        "A service is not asked before it is called again.",
    ),
    _mutant(
        "what is reset at once backs off",
        "LEAST(f.cap, f.base * power(2, LEAST(f.failures - 1, 30)))",
        "f.base",
        "A service that is down is called by everybody at the same instant.",
    ),
    _mutant(
        "what is held is skipped",
        'lock=dialect.lock_rows("p, s", skip_locked=True)',
        'lock=dialect.lock_rows("p", skip_locked=True)',
        "A sweep waits for whoever holds a step, and others for the sweep.",
    ),
    _mutant(
        "an order that is decided about is skipped",
        'lock=dialect.lock_rows("p, s", skip_locked=True)',
        'lock=dialect.lock_rows("s", skip_locked=True)',
        "A sweep decides of an order that somebody else decides about.",
    ),
    _mutant(
        "what is reset at once can be claimed",
        "UPDATE workers_live l SET state = 'pending', not_before = s.not_before, look_at = NULL",
        "UPDATE workers_live l SET not_before = s.not_before",
        "A step that is to be tried again is never found.",
    ),
    _mutant(
        "narrow rows are the triggers' again after a reset",
        "        step_index.written()\n",
        "",
        "What follows in the same transaction is not looked for.",
    ),
    _mutant(
        "no more are reset than a sweep takes",
        "int(sas.sweep_batch)",
        "1_000_000",
        "A sweep holds the rows of everything that has expired.",
    ),
    Mutant(
        "what is not plain is decided in the same sweep",
        _EXPIRY,
        "        rest = _decide(at_once.left, worker, now)\n",
        "        rest = Expired()\n",
        "A step that has failed for the last time is under way for good.",
        _TESTS,
        on=POSTGRESQL,
    ),
    Mutant(
        "a sweep that holds steps waits for none",
        _EXPIRY,
        "        rest = _decide(at_once.left, worker, now)\n",
        "        rest = _decide(_find(now), worker, now)\n",
        "A sweep and a start that comes twice wait for each other.",
        _TESTS,
        on=POSTGRESQL,
    ),
)
