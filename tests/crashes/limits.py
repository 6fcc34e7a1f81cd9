"""Limits per key: whatever dies while a step is blocked or un-blocked, none stays blocked."""

from tests.crashes.scenario import Scenario, does, services
from tests.toyflow import agents as toy
from workers import NewProcess, submit_many
from workers.models import LiveStep, Process
from workers.testing import Aftermath

KINDS = ("toy_keyed", "toy_exclusive")


def _submit() -> None:
    """Submit three of one customer, as a client does that repeats itself."""
    toy.script["toy.keyed"] = does
    for kind in KINDS:
        wanted = [
            NewProcess(
                f"{kind} {number}",
                {},
                attributes={"customer": 7, "plan": "p"},
                submission_key=f"{number}",
                key_for=None,
            )
            for number in range(3)
        ]
        submit_many(kind, wanted)


def _all_in_turn(after: Aftermath) -> None:
    assert Process.objects.count() == 3 * len(KINDS)
    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
    assert not LiveStep.objects.exists()
    # Each call has its effect once, whatever died.
    assert set(services().count().values()) <= {0, 3}


SCENARIOS = [
    Scenario(
        "block and un-block",
        _submit,
        _all_in_turn,
        brief=("claim_steps.claim_due", "settle_replies.apply", "key_places.mend"),
    )
]
