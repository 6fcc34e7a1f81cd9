"""Guards of statements: plans that are kept, transactions that are pipelined, what comes along."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_SETTLING = "tests/integration/test_store_settling.py"
_PLANS = "tests/integration/test_kept_plans.py"
_BEGINNING = "tests/integration/test_beginning.py"

MUTANTS = (
    Mutant(
        "kept plans follow indexes",
        "workers/store/plans.py",
        """    "enable_seqscan": "off",
""",
        "",
        "A plan that was made in small tables reads all of them once they are large.",
        (_PLANS,),
        on=POSTGRESQL,
    ),
    Mutant(
        "keys are looked up",
        "workers/store/sql.py",
        "ANY(ARRAY[{column}])",
        "{column}",
        "A kept plan reads an index from end to end for each row.",
        (_PLANS,),
        on=POSTGRESQL,
    ),
    Mutant(
        "results come back as the database has them",
        "workers/store/writing.py",
        "results_as_read[step_id] = text",
        "results_as_read[step_id] = sql.encode_document(owners[step_id].step(step_id).result)",
        "A repeated attempt sends other bytes than the first, under the same key.",
        (_SETTLING,),
        on=POSTGRESQL,
    ),
    Mutant(
        "numbers that JSON does not have are refused",
        "workers/store/updating.py",
        'sql.encode(sorted(rows, key=itemgetter("id")), documents)',
        'sql.encode(sorted(rows, key=itemgetter("id")))',
        "A result whose price is no number is stored with no price.",
        ("tests/integration/test_poison.py",),
        on=POSTGRESQL,
    ),
    Mutant(
        "statements that leave together are of the transaction",
        "workers/store/sql.py",
        'itself.execute("BEGIN", prepare=False)',
        "pass",
        "What was written before an error stays though the rest is rolled back.",
        (_BEGINNING,),
        on=POSTGRESQL,
    ),
    Mutant(
        "a BEGIN that says more is psycopg's own",
        "workers/store/plans.py",
        "if (itself.isolation_level, itself.read_only, itself.deferrable) != (None, None, None):",
        "if False:",
        "A transaction that was to be isolated is not.",
        (_BEGINNING,),
        on=POSTGRESQL,
    ),
    Mutant(
        "results that are taken back come along no more",
        "workers/store/writing.py",
        "owners[step_id].results_as_read.pop(step_id, None)",
        "pass",
        "A process that begins again sends what it had undone.",
        ("tests/integration/test_steering.py",),
    ),
    Mutant(
        "what is too large to come along is read",
        "workers/store/contexts.py",
        "if not given or any(text == sql.LARGE for _, text in texts):",
        "if not given:",
        "An agent is asked without a large result.",
        (_SETTLING,),
    ),
    Mutant(
        "steps that were sent count as they are",
        "workers/store/rows.py",
        "            _count_as_read(lockeds)\n",
        "",
        "A settlement writes the same step twice and never ends.",
        (_SETTLING,),
    ),
    Mutant(
        "the planner is left alone in a caller's transaction",
        "workers/store/plans.py",
        "or ours.in_atomic_block or",
        "or",
        "What the caller asks next is planned without sequential scans.",
        (_PLANS,),
        on=POSTGRESQL,
    ),
    Mutant(
        "nothing is asked in a transaction that failed",
        "workers/store/plans.py",
        "        ours.validate_no_broken_transaction()\n",
        "",
        "A verb goes on in a transaction that is rolled back in the end.",
        (_PLANS,),
        on=POSTGRESQL,
    ),
)
