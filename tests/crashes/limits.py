"""Limits per key: whatever dies while a step is blocked or un-blocked, none stays blocked."""

from datetime import timedelta

from tests.crashes.scenario import Scenario, does, services
from tests.toyflow import agents as toy
from workers import NewProcess, pause, submit, submit_many
from workers.models import LimitedKey, LiveStep, Process
from workers.protocol.messages import Reply
from workers.store import key_limits, key_places
from workers.store.claims import claim_steps
from workers.store.db import dialect
from workers.store.settle import settle_replies
from workers.testing import Aftermath, Wire
from workers.testing.agent_processes import room as anywhere

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


def _rated() -> None:
    """Submit three of one customer, of whom one call begins in a second."""
    toy.script["toy.rated"] = does
    wanted = [
        NewProcess(
            f"Rated {number}",
            {},
            attributes={"customer": 7, "plan": "p"},
            submission_key=f"{number}",
            key_for=None,
        )
        for number in range(3)
    ]
    submit_many("toy_rated", wanted)


def _at_its_rate(after: Aftermath) -> None:
    assert list(Process.objects.values_list("state", flat=True)) == ["processed"] * 3
    assert not LiveStep.objects.exists()
    assert set(services().count().values()) <= {0, 3}
    # A bucket that is full again is no row.
    key_limits.forget_full(10, dialect.read_clock() + timedelta(minutes=1))
    assert not LimitedKey.objects.exists()


def _full(wire: Wire) -> None:
    submit_many("toy_rated", [NewProcess("R", {}, attributes={"customer": 7, "plan": "p"})])
    claim_steps.claim_due({"toy.rated"}, anywhere())
    LimitedKey.objects.update(full_at=dialect.read_clock())


def _forget() -> None:
    key_limits.forget_full(10)


def _forgotten(after: Aftermath) -> None:
    assert not LimitedKey.objects.exists()


def _behind_a_paused_one(wire: Wire) -> None:
    """Three of one customer: one is done, the next one's order is paused, and one is blocked."""
    toy.script["toy.keyed"] = does
    rows = [
        submit("toy_keyed", subject=f"Keyed {n}", input={}, attributes={"customer": 7})
        for n in range(3)
    ]
    (claim,) = claim_steps.claim_due({"toy.keyed"}, anywhere())
    pause(rows[1].pk, actor="operator:ann", reason="not yet")
    settle_replies.apply([Reply(claim.step_id, claim.claim_id, claim.attempt, {})], "agent")
    assert LiveStep.objects.filter(state="blocked").count() == 1


def _passed_by(after: Aftermath) -> None:
    states = list(Process.objects.order_by("pk").values_list("state", flat=True))
    assert states == ["processed", "pending", "processed"]


SCENARIOS = [
    Scenario(
        "block and un-block",
        _submit,
        _all_in_turn,
        brief=("claim_steps.claim_due", "settle_replies.apply"),
    ),
    Scenario("begin at the rate of a key", _rated, _at_its_rate, brief=("claim_steps.claim_due",)),
    Scenario(
        *("forget keys at rest", _forget, _forgotten),
        prepare=_full,
        brief=("key_limits.forget_full",),
    ),
    Scenario(
        "un-block behind a paused one",
        key_places.mend,
        _passed_by,
        prepare=_behind_a_paused_one,
        brief=("key_places.mend",),
    ),
]
