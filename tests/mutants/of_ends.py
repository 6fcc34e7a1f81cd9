"""Guards of the end of a process, and of telling the application of it."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_ENDS = "tests/integration/test_on_end.py"

MUTANTS = (
    Mutant(
        "an end that cannot be told is none",
        "workers/store/settle/end_processes.py",
        "        with transaction.atomic():\n",
        "        if True:\n",
        "An order has ended, and half of what its end writes is there.",
        (_ENDS,),
    ),
    Mutant(
        "numbers stay gap-free where an end is taken back",
        "workers/rules/hold_endings.py",
        "if entry.sequence is not None and entry.sequence > ending.sequence:",
        "if False:",
        "A submitter waits for a status that never comes.",
        ("tests/unit/test_hold_endings.py", _ENDS),
    ),
    Mutant(
        "an end is told in its transaction",
        "workers/store/settle/end_processes.py",
        "on_end(End(process.id, process.subject, process.state, context.results))",
        "transaction.on_commit(lambda: on_end("
        "End(process.id, process.subject, process.state, context.results)))",
        "An order has ended, and a crash loses what the application writes of it.",
        (f"{_ENDS}::test_it_sees_the_end_and_the_reply_in_the_same_transaction",),
    ),
    Mutant(
        "whoever is told of an end has answers to what it asks",
        "workers/store/settle/carry_on.py",
        "    load.write(processes)\n",
        "    load.write(processes, is_last=True)\n",
        "An application is told that it has changed no row, and does its work once more.",
        (f"{_ENDS}::test_on_the_way_of_production_it_is_called_once_and_its_rows_are_committed",),
        POSTGRESQL,
    ),
    Mutant(
        "an end is told without flow rows",
        "workers/store/settle/carry_on.py",
        "    if not may_wait:\n",
        "    if False:\n",
        "All settlements of an agent wait for the application's code.",
        (f"{_ENDS}::test_another_session_may_lock_every_flow_row_meanwhile",),
        POSTGRESQL,
    ),
    Mutant(
        "one whose end cannot be told holds up no other",
        "workers/store/settle/end_processes.py",
        "    except Exception as error:\n",
        "    except KeyError as error:\n",
        "One order's broken end has a whole batch of replies come again.",
        (_ENDS,),
    ),
)
