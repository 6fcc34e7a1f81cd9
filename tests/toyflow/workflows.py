"""Small graphs for the engine's tests."""

from collections.abc import Mapping
from datetime import datetime

from django.db import connection

from tests.toyflow import child_groups  # noqa: F401 (registers)
from tests.toyflow.agents import GREET, script
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import (
    End,
    Fallback,
    Json,
    OnDeadline,
    OnFailure,
    Undo,
    Workflow,
    step,
)

LINE = register_workflow(
    Workflow(
        "toy_line",
        1,
        (
            step("one", "toy.alpha", timeout_seconds=30),
            step("two", "toy.beta", after="one", timeout_seconds=30),
        ),
    )
)
DIAMOND = register_workflow(
    Workflow(
        "toy_diamond",
        1,
        (
            step("top", "toy.alpha"),
            step("left", "toy.beta", after="top"),
            step("right", "toy.alpha", after="top"),
            step("bottom", "toy.beta", after=("left", "right")),
        ),
    )
)
FALLBACK = register_workflow(
    Workflow("toy_fallback", 1, (step("ship", "toy.alpha", fallbacks=("toy.beta",)),))
)
OPTIONAL = register_workflow(
    Workflow(
        "toy_optional",
        1,
        (step("work", "toy.alpha"), step("mail", "toy.mailer", after="work", optional=True)),
    )
)
LOCAL = register_workflow(Workflow("toy_local", 1, (step("write", "toy.writer"),)))
NARROW = register_workflow(Workflow("toy_narrow", 1, (step("only", "toy.gamma"),)))
UNDOABLE = register_workflow(
    Workflow(
        "toy_undoable",
        1,
        (
            step("top", "toy.alpha", undo=Undo("undo_top", "toy.undoer")),
            step("left", "toy.beta", after="top", undo=Undo("undo_left", "toy.undoer")),
            step(
                "right",
                "toy.gamma",
                after="top",
                undo=Undo("undo_right", "toy.undoer"),
                on_failure=OnFailure.COMPENSATE,
            ),
            step(
                "bottom",
                "toy.delta",
                after=("left", "right"),
                undo=Undo("undo_bottom", "toy.undoer"),
                on_failure=OnFailure.COMPENSATE,
            ),
            step("mail", "toy.mailer", after="bottom", optional=True),
        ),
        no_return=("bottom",),
    )
)
FALLBACK_UNDO = register_workflow(
    Workflow(
        "toy_fallback_undo",
        1,
        (
            step(
                "ship",
                "toy.alpha",
                undo=Undo("unship", "toy.undoer"),
                fallbacks=(Fallback("toy.beta", undo_agent="toy.other_undoer"),),
            ),
            step("pay", "toy.gamma", after="ship", on_failure=OnFailure.COMPENSATE),
        ),
    )
)
WAITING = register_workflow(
    Workflow(
        "toy_waiting", 1, (step("slow", "toy.alpha", on_failure=OnFailure.WAIT, wait_seconds=7200),)
    )
)
PARALLEL = register_workflow(
    Workflow("toy_parallel", 1, (step("a", "toy.alpha"), step("b", "toy.beta")))
)
CHAIN_OF_FALLBACKS = register_workflow(
    Workflow(
        "toy_chain_of_fallbacks",
        1,
        (
            step(
                "ship",
                "toy.alpha",
                undo=Undo("unship_it", "toy.undoer"),
                fallbacks=("toy.beta", Fallback("toy.delta", undo_agent="toy.other_undoer")),
            ),
            step("pay", "toy.gamma", after="ship"),
        ),
    )
)
UNSAFE_FALLBACK = register_workflow(
    Workflow("toy_unsafe_fallback", 1, (step("tell", "toy.alpha", fallbacks=("toy.mailer",)),))
)

ANSWERED = register_workflow(
    Workflow(
        "toy_answered",
        1,
        (
            step("first", "toy.beta", undo=Undo("undo_first", "toy.undoer")),
            step("ask", "toy.alpha", after="first", undo=Undo("unask", "toy.undoer")),
            step("then", "toy.gamma", after="ask"),
        ),
    )
)
EVENT = register_workflow(
    Workflow(
        "toy_event", 1, (step("work", "toy.alpha"), step("arrives", "toy.quiet", after="work"))
    )
)
REMINDED = register_workflow(
    Workflow(
        "toy_reminded",
        1,
        (
            step("ask", "toy.quiet"),
            step("remind3", "toy.mailer", delay_seconds=3 * 86_400, unless="ask"),
            step("remind7", "toy.mailer", after="remind3", delay_seconds=4 * 86_400, unless="ask"),
            step(
                "offer",
                "toy.alpha",
                delay_seconds=86_400,
                unless=lambda given, results: "ask" in results or given.get("is_over", False),
            ),
        ),
    )
)
CONDITIONAL = register_workflow(
    Workflow(
        "toy_conditional",
        1,
        (
            step("maybe", "toy.alpha", when=lambda given, results: given["maybe"]),
            step("work", "toy.beta", after="maybe"),
            step(
                "if_big",
                "toy.gamma",
                after="work",
                when=lambda given, results: results["work"]["size"] > 10,
            ),
            step("last", "toy.delta", after="if_big"),
        ),
    )
)
JUDGED_FALLBACK = register_workflow(
    Workflow(
        "toy_judged_fallback",
        1,
        (
            step(
                "ship",
                "toy.alpha",
                fallbacks=("toy.beta",),
                when=lambda given, results: given["missing"],
            ),
        ),
    )
)
AFTER_EMPTY = register_workflow(
    Workflow(
        "toy_after_empty",
        1,
        (
            step("one", "toy.alpha"),
            step("two", "toy.beta", after="one", when=lambda given, results: results["one"] == {}),
        ),
    )
)


def _break_the_database(given: Json, results: Mapping[str, Json]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
    return True


async def _later() -> bool:
    return False


BROKEN_CONDITION = register_workflow(
    Workflow(
        "toy_broken_condition",
        1,
        (step("one", "toy.alpha"), step("two", "toy.beta", after="one", when=_break_the_database)),
    )
)
UNAWAITED_CONDITION = register_workflow(
    Workflow(
        "toy_unawaited_condition",
        1,
        (step("one", "toy.alpha", when=lambda input, results: _later()),),
    )
)
WAITS_IN_VAIN = register_workflow(
    Workflow(
        "toy_waits_in_vain",
        1,
        (step("pay", "toy.forgetful", on_failure=OnFailure.WAIT, wait_seconds=3600),),
    )
)
FORGETFUL_UNDO = register_workflow(
    Workflow(
        "toy_forgetful_undo",
        1,
        (
            step("one", "toy.alpha", undo=Undo("unone", "toy.forgetful")),
            step("two", "toy.beta", after="one", delay_seconds=86_400),
        ),
    )
)
UNWANTED = register_workflow(
    Workflow(
        "toy_unwanted",
        1,
        (
            step("a", "toy.alpha", when=lambda given, results: False),
            step("b", "toy.beta", after="a", when=lambda given, results: False),
        ),
    )
)
DELAYED = register_workflow(
    Workflow(
        "toy_delayed",
        1,
        (
            step("soon", "toy.alpha", delay_seconds=60),
            step("later", "toy.beta", after="soon", delay_seconds=3600),
            step(
                "on_the_day",
                "toy.gamma",
                after="soon",
                until=lambda given, results: datetime.fromisoformat(given["day"]),
            ),
        ),
    )
)
ASKING = register_workflow(
    Workflow(
        "toy_asking",
        1,
        (
            step("a", "toy.alpha", on_failure=OnFailure.ASK),
            step("b", "toy.beta"),
            step("b2", "toy.beta", after="b"),
            step("both", "toy.gamma", after=("a", "b2")),
        ),
    )
)
DATED = register_workflow(
    Workflow(
        "toy_dated",
        1,
        (
            step("one", "toy.alpha", undo=Undo("undo_one", "toy.undoer")),
            step("two", "toy.beta", after="one"),
        ),
        deadline_seconds=3600,
        no_return=("two",),
    )
)
WATCHED = register_workflow(
    Workflow(
        "toy_watched",
        1,
        (step("one", "toy.alpha"),),
        deadline_seconds=3600,
        on_deadline=OnDeadline.ALERT,
    )
)
QUERIED = register_workflow(Workflow("toy_queried", 1, (step("pay", "toy.asker"),)))
FORGETFUL = register_workflow(Workflow("toy_forgetful", 1, (step("pay", "toy.forgetful"),)))
IN_ALL = register_workflow(
    Workflow(
        "toy_in_all",
        1,
        (step("try", "toy.alpha", total_seconds=120, failure_threshold=50, timeout_seconds=10),),
    )
)
EDITABLE = register_workflow(
    Workflow(
        "toy_editable",
        1,
        (
            step(
                "send",
                "toy.alpha",
                request=lambda given, results: {"to": given["customer"]["address"]},
            ),
        ),
        editable=("customer.address", "gift"),
    )
)
PERSONAL = register_workflow(
    Workflow("toy_personal", 1, (step("send", "toy.alpha"),), personal=("customer",))
)
GREETING = register_workflow(Workflow("toy_greeting", 1, (step("greet", GREET),)))
TOLD = register_workflow(
    Workflow(
        "toy_told",
        1,
        (
            step("one", "toy.alpha", undo=Undo("undo_one", "toy.undoer")),
            step("two", "toy.beta", after="one", failure_threshold=1),
        ),
        told_as="toy",
        describe=lambda given: {"toy_id": given["id"]},
    )
)
WHOLE = register_workflow(
    Workflow(
        "toy_whole",
        1,
        (
            step("top", "toy.alpha", undo=Undo("undo_top", "toy.undoer")),
            step("left", "toy.beta", after="top", undo=Undo("undo_left", "toy.undoer")),
            step("write", "toy.writer", after="top"),
            step(
                "last",
                "toy.delta",
                after=("left", "write"),
                undo=Undo("undo_last", "toy.undoer"),
                on_failure=OnFailure.COMPENSATE,
            ),
            step("mail", "toy.mailer", after="last", optional=True),
        ),
        told_as="toy",
        describe=lambda given: {"toy_id": given["id"]},
    )
)
MAIL = register_workflow(Workflow("toy_mail", 1, (step("mail", "toy.mailer", optional=True),)))
INFORMED = register_workflow(
    Workflow(
        "toy_informed",
        1,
        (step("one", "toy.alpha"), step("two", "toy.beta", after="one")),
        told_as="toy",
        describe=lambda given: {"toy_id": given["id"]},
    )
)


def _hear(end: End) -> None:
    """Do as a test's script says."""
    script.get("on_end", lambda end: None)(end)


HEARD = register_workflow(
    Workflow(
        "toy_heard",
        1,
        (
            step("one", "toy.alpha", undo=Undo("undo_one", "toy.undoer")),
            step("two", "toy.beta", after="one", timeout_seconds=30, failure_threshold=1),
        ),
        on_end=_hear,
    )
)
HEARD_AT_ONCE = register_workflow(
    Workflow(
        "toy_heard_at_once",
        1,
        (step("a", "toy.alpha", when=lambda given, results: given["is_wanted"]),),
        on_end=_hear,
    )
)
HEARD_BRANCHES = register_workflow(
    Workflow(
        "toy_heard_branches",
        1,
        (step("a", "toy.alpha"), step("b", "toy.beta"), step("c", "toy.gamma")),
        on_end=_hear,
    )
)
NAMED = register_workflow(
    Workflow(
        "toy_named",
        1,
        (step("one", "toy.alpha"),),
        attributes={"customer": int, "plan": str, "email": str},
        personal=("attributes.email", "name"),
    )
)

_KEYS = {"customer": int, "plan": str}
register_workflow(Workflow("toy_plain", 1, (step("charge", "toy.alpha"),)))
register_workflow(Workflow("toy_keyed", 1, (step("charge", "toy.keyed"),), attributes=_KEYS))
register_workflow(Workflow("toy_rated", 1, (step("charge", "toy.rated"),), attributes=_KEYS))
#: Whose second agent and whose undo are limited by another attribute.
register_workflow(
    Workflow(
        "toy_keyed_back",
        1,
        (
            step(
                "charge",
                "toy.keyed",
                undo=Undo("refund", "toy.keyed_pairs"),
                fallbacks=("toy.keyed_pairs",),
            ),
            step("ship", "toy.beta", after="charge", on_failure=OnFailure.COMPENSATE),
        ),
        attributes=_KEYS,
    )
)
EXCLUSIVE = register_workflow(
    Workflow(
        "toy_exclusive",
        1,
        (
            step("left", "toy.alpha"),
            step("right", "toy.beta"),
            step("last", "toy.gamma", after=("left", "right")),
        ),
        attributes=_KEYS,
        exclusive="customer",
    )
)
#: The next version begins with another agent.
_ONLY = (step("only", "toy.delta"),)
register_workflow(Workflow("toy_exclusive", 2, _ONLY, attributes=_KEYS, exclusive="customer"))
