"""Guards of the narrow rows by which steps are looked for."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_MIGRATION = "workers/migrations/_live_steps.py"
_LIVE = "workers/store/locked/step_index.py"
_LEASES = ("tests/integration/test_renewed_leases.py",)
_TESTS = ("tests/integration/test_live.py",)


def _trigger(guard: str, old: str, new: str, prevents: str) -> Mutant:
    return Mutant(guard, _MIGRATION, old, new, prevents, _TESTS)


_OLD_PROCESSES = "workers/store/prune_processes.py"
_PRUNING = ("tests/integration/test_pruning_processes.py",)

MUTANTS = (
    _trigger(
        "an end that is brought forward is looked at",
        '" AND (OLD.complete_by IS NOT NULL OR NEW.complete_by < {until})"',
        '" AND OLD.complete_by IS NOT NULL"',
        "A claim with little time expires and nobody sees it.",
    ),
    _trigger(
        "an end that is changed is looked at",
        '" AND (OLD.complete_by IS NOT NULL OR NEW.complete_by < {until})"',
        '" AND NEW.complete_by < {until}"',
        "A claim expires earlier than it is looked at.",
    ),
    _trigger(
        "a start writes no narrow row",
        '" AND (OLD.complete_by IS NOT NULL OR NEW.complete_by < {until})"',
        '""',
        "Each start costs what the narrow rows were made to save.",
    ),
    _trigger(
        "what waits for an answer takes up no room",
        '" OR (OLD.deferral IS NULL) <> (NEW.deferral IS NULL)"',
        '""',
        "Orders that wait for a person stop an agent.",
    ),
    _trigger(
        "what has ended is looked for no more",
        '        f"OLD.state IN {LIVE} AND NEW.state NOT IN {LIVE}",\n',
        '        "false",\n',
        "Ended steps take up their agent's room for good.",
    ),
    _trigger(
        "a claim is looked at when it may have expired",
        "\"min({row}.dispatch_by, strftime('%Y-%m-%d %H:%M:%f000', {row}.claimed_at,\"",
        "\"max({row}.dispatch_by, strftime('%Y-%m-%d %H:%M:%f000', {row}.claimed_at,\"",
        "A claim with a short time expires and is seen late.",
    ),
    Mutant(
        "what nobody finds is mended",
        "workers/store/claims/find_work.py",
        "    step_index.mend([process_id for process_id, _ in portion])\n",
        "",
        "An order stands still for good though it could go on.",
        _TESTS,
    ),
    Mutant(
        "only what has expired is reset",
        "workers/store/expire/expire_claims.py",
        "\" AND s.state = 'processing' AND s.complete_by < %s AND s.reply IS NULL\"",
        "\" AND s.state = 'processing' AND s.turn < %s AND s.reply IS NULL\"",
        "Claims that are looked at early fill the batches of a sweep.",
        _TESTS,
    ),
    Mutant(
        "a step is what its row says",
        "workers/store/flow/due_steps.py",
        "        \" AND s.state = 'pending'\"\n",
        "",
        "Steps wait behind one that only a wrong narrow row calls pending.",
        _TESTS,
    ),
    Mutant(
        "narrow rows are written whatever the search path",
        _MIGRATION,
        " SET search_path FROM CURRENT",
        "",
        "A dump cannot be restored into a database that is migrated.",
        _TESTS,
        on=POSTGRESQL,
    ),
    Mutant(
        "a sweep renews its lease",
        "workers/supervisor/__init__.py",
        "< sas.sweep_batch or not lease.renew():",
        "< sas.sweep_batch:",
        "Two supervisors are at a long sweep, though the lease is short.",
        _LEASES,
    ),
    Mutant(
        "pruning renews its lease",
        "workers/operate/retention.py",
        "if not lease.renew() or (",
        "if (",
        "Two prune at once, though the lease is short.",
        _LEASES,
    ),
    Mutant(
        "what is reopened while it is pruned stays",
        "workers/store/old_rows.py",
        "{dialect.among('id')} AND {rows.condition}",
        "{dialect.among('id')} AND %s IS NOT NULL",
        "An alert that somebody has reopened is gone.",
        ("tests/integration/test_pruning.py",),
    ),
    Mutant(
        "a job stays until all of its items are deleted",
        "workers/store/old_rows.py",
        "return 0 if has_more else",
        "return",
        "Items are left whose job is gone, or no job with many items is ever pruned.",
        ("tests/integration/test_pruning.py",),
    ),
    Mutant(
        "a process whose alert is kept stays",
        _OLD_PROCESSES,
        '    " AND NOT EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id)"\n',
        "",
        "What an alert is about is gone, and no round of pruning ends.",
        _PRUNING,
    ),
    Mutant(
        "a process whose request is kept stays",
        _OLD_PROCESSES,
        '    " AND NOT EXISTS (SELECT 1 FROM workers_undorequest u WHERE u.process_id = p.id)"\n',
        "",
        "What two persons decided is gone, and no round of pruning ends.",
        _PRUNING,
    ),
    Mutant(
        "protected processes are not found out by trying",
        _OLD_PROCESSES,
        'if ids and getattr(key, "on_delete", None) in (PROTECT, RESTRICT):',
        "if False:",
        "Where everything is protected, each round tries every process by itself and never ends.",
        _PRUNING,
    ),
    Mutant(
        "a row that cannot be used keeps no other from going",
        "workers/store/isolation.py",
        "    middle = len(rows) // 2\n",
        "    return []\n",
        "One row that cannot be read, or is protected, stops all others for good.",
        ("tests/integration/test_poison_rows.py", *_PRUNING),
    ),
    Mutant(
        "rows that cannot be used hide none behind them",
        "workers/store/isolation.py",
        'f" AND x.last_raised_at > {dialect.earlier(at, REST_SECONDS)} LIMIT 1) IS NOT NULL)"',
        'f" AND 1 = 0 LIMIT 1) IS NOT NULL)"',
        "Some hundred rows that cannot be used stop all work behind them.",
        ("tests/integration/test_poison_batches.py",),
    ),
    Mutant(
        "a journal is kept no longer than its process",
        "workers/store/prune_journals.py",
        "min(sas.keep_journal_days, sas.keep_processes_days)",
        "sas.keep_journal_days",
        "No process ever goes, because its journal is there.",
        _PRUNING,
    ),
    Mutant(
        "an order stays while what is sent back of it is young",
        "orders/retention.py",
        "        ~Exists(late), process__finished_at__lt",
        "        process__finished_at__lt",
        "The order is gone whose parcel is on its way back.",
        _PRUNING,
    ),
    Mutant(
        "an order that begins again at this instant stays",
        "orders/retention.py",
        '.select_for_update(of=("process",), skip_locked=True)',
        "",
        "An order that an operator begins again is deleted under way.",
        _PRUNING,
        POSTGRESQL,
    ),
)
