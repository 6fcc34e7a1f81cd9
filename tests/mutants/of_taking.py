"""Guards of what is claimed by one statement: what it leaves to the other way."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_FILE = "workers/store/claims/claim_fast.py"
_TESTS = ("tests/integration/test_taking.py",)


def _taking(guard: str, old: str, new: str, prevents: str) -> Mutant:
    return Mutant(guard, _FILE, old, new, prevents, _TESTS, on=POSTGRESQL)


MUTANTS = (
    _taking(
        "only agents whose flow row is locked",
        " WHERE f.agent = ANY({locked})",
        "",
        "Two schedulers count an agent's room at once, and send it twice as much.",
    ),
    _taking(
        "an order that somebody holds is passed over",
        "skip_locked=True",
        "skip_locked=False",
        "A look waits for an operator, and who settles waits for the look.",
    ),
    _taking(
        "a due step is claimed as it was read",
        "as_read=transactions.must(",
        "as_read=str(",
        "A step that was put off or is in doubt by now is sent.",
    ),
    _taking(
        "no more than there is room for",
        " AND r.place <= r.room",
        "",
        "An agent without room is sent one more at each look.",
    ),
    _taking(
        "in doubt, to an operator",
        "NOT s.is_in_doubt AND ",
        "",
        "A call that must not be repeated is repeated.",
    ),
    _taking(
        "undo steps row by row",
        "s.undoes_id IS NULL AND ",
        "",
        "An undo is sent without what it undoes.",
    ),
    _taking(
        "waiting takes nothing of a step's time",
        "s.began_at IS NULL AND ",
        "",
        "A step that waited for room has used up the time for all its attempts.",
    ),
    _taking(
        "an agent that is not plain is left to the other way",
        "this.is_free AND {is_plain} AS is_plain",
        "this.is_free AS is_plain",
        "An agent with a rate is sent all that waits at once.",
    ),
    _taking(
        "what is held is not claimed",
        "this.is_free AND ",
        "",
        "What an operator holds goes on.",
    ),
    _taking(
        "one of its agent not plain, none is",
        "bool_and(f.is_plain) OVER (PARTITION BY f.agent)",
        "f.is_plain",
        "Steps behind one that is to be decided on are claimed before it, and their room twice.",
    ),
    _taking(
        "an agent that is left holds up no order",
        "LIMIT CASE WHEN a.is_plain THEN",
        "LIMIT CASE WHEN true THEN",
        "While a service is away or anything is held, each look locks the orders that wait.",
    ),
    _taking(
        "steps are written in the order of their keys",
        "FROM chosen c ORDER BY c.id",
        "FROM chosen c",
        "Two that write several steps at once meet in a deadlock.",
    ),
    _taking(
        "what is claimed is sent, whatever becomes of the rest",
        "        except Exception:\n            # What is claimed already",
        "        except KeyError:\n            # What is claimed already",
        "One agent's trouble keeps claims of all others from being sent.",
    ),
    _taking(
        "an order begins once",
        "c.is_claimed AND c.state = 'pending' AND row_number() OVER (\n"
        "            PARTITION BY c.process_id, c.is_claimed ORDER BY c.agent, c.place) = 1",
        "c.is_claimed AND c.state = 'pending'",
        "An order that begins with two steps is not begun at all.",
    ),
)
