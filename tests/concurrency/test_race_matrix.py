"""Every verb of the store against every other, on one order: whoever comes first, all is sound.

One connection stops between two statements of its verb, the other runs its own meanwhile.
Whatever the first had read or written by then, the invariants hold afterwards, nothing is
journalled or sent twice, and the rows are as if the verbs had come one after the other.  A verb
that found the order held by the other and said so may have left it alone.

It stops right before its first write, and now and then at one more place drawn from
``RACE_MATRIX_SEED``; with ``RACE_MATRIX=full`` at every one.  With ``RACE_MATRIX=few`` it meets
itself, the look for due steps and a few others, which the seed draws.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest
from django.test import override_settings

from tests.concurrency.matrix import collecting, stage
from tests.concurrency.matrix.calls import CALLS, Call
from tests.concurrency.matrix.pausing import Session, Turn, meet, one_after_the_other
from tests.concurrency.matrix.scene import NOW, Scene
from workers.exceptions import SASError
from workers.ops import invariants
from workers.store.claims.claim_steps import Claim
from workers.store.db import prepared_plans
from workers.store.expire.expire_claims import ExpiryResult
from workers.store.locked.load import LostRow
from workers.store.settle.settle_replies import SettleResult
from workers.supervisor import beat_schedule
from workers.testing import frozen_clock

#: The share of pairs that meet at one more place.
SHARE = 0.3
#: How many others a verb meets where only a few are asked for.
FEW = 5
#: How statements begin that change something.
WRITES = ("WITH", "UPDATE", "INSERT", "DELETE")
SEED = 20_261_121
#: The look for due steps, which makes up for what another has missed.
LOOK = next(call for call in CALLS if call.place == "claim_steps.claim_due")


@pytest.fixture(autouse=True)
def a_year() -> Iterator[None]:
    """Let what is long over be pruned: by default nothing is."""
    with override_settings(SAS_KEEP_JOURNAL_DAYS=365, SAS_KEEP_PROCESSES_DAYS=365):
        yield


def test_every_verb_is_called():
    assert collecting.verbs() - {call.place for call in CALLS} == set()


def test_every_move_of_an_operator_is_behind_a_verb():
    assert collecting.moves() - collecting.moves_of_steering() == set()


@dataclass
class Stage:
    """A scene that can be set again and again, and what becomes of it."""

    scene: Scene
    rows: stage.Rows
    sessions: tuple[Session, Session]
    #: Invariants that the scene itself breaks, because nobody has come for so long.
    overdue: set[str]
    _pictures: dict[tuple[str, ...], stage.Picture] = field(default_factory=dict)

    def bound(self, call: Call) -> Callable[[], Any]:
        return partial(call.run, self.scene)

    def after(self, *calls: Call) -> stage.Picture:
        """Return what the rows are after verbs that came one after the other."""
        names = tuple(call.name for call in calls)
        if names not in self._pictures:
            stage.put_back(self.rows)
            one_after_the_other(self.sessions[0], *map(self.bound, calls))
            self._pictures[names] = stage.picture(stage.kept())
        return self._pictures[names]

    def points(self, call: Call) -> list[int]:
        """Return the statements after which a verb can stop, that before its first write first.

        Whatever it has decided by then is decided on rows that may move.
        """
        stage.put_back(self.rows)
        (turn,) = one_after_the_other(self.sessions[0], self.bound(call))
        every = range(1, len(turn.gate.statements) + 1)
        texts = [text.lstrip("( ").upper() for text in turn.gate.statements]
        writes = (n for n, text in enumerate(texts) if text.startswith(WRITES))
        before = next(writes, 0)
        return sorted(every, key=lambda point: point != before)

    def race(self, first: Call, second: Call, after: int) -> list[str]:
        """Return what is wrong after two verbs have met."""
        stage.put_back(self.rows)
        turns = meet(self.sessions, self.bound(first), self.bound(second), after)
        rows = stage.kept()
        return [
            *_bad_endings(turns),
            *(
                f"{one.invariant}: {one.wrong}"
                for one in invariants.violations()
                if one.invariant not in self.overdue
            ),
            *self._sent_wrongly(turns, rows),
            *self._unlike_any_order(first, second, turns, rows),
        ]

    def _sent_wrongly(self, turns: tuple[Turn, Turn], rows: stage.Rows) -> Iterator[str]:
        sent = Counter(claim.claim_id.hex for turn in turns for claim in _claims(turn.result))
        yield from (f"claim {claim} is sent {n} times" for claim, n in sent.items() if n > 1)
        new = stage.claims_of(rows) - stage.claims_of(self.rows) - set(sent)
        yield from (f"claim {claim} is sent by nobody" for claim in new)

    def _unlike_any_order(
        self, first: Call, second: Call, turns: tuple[Turn, Turn], rows: stage.Rows
    ) -> Iterator[str]:
        """Compare the rows with those after one verb and then the other.

        One that says it did nothing, because the other held the order, may have done nothing.
        """
        found = stage.picture(rows)
        orders = [(first, second), (second, first)]
        orders += [(first,)] if _may_have_left(second, turns[1]) else []
        orders += [(second,)] if _may_have_left(first, turns[0]) else []
        if all(self.after(*order) != found for order in orders):
            other = second if first is LOOK else first
            is_look = LOOK in (first, second)
            has_looked = is_look and other.place.startswith("operations.")
            if has_looked and self._is_mended_by_a_look(rows, orders):
                return
            nearest = min((stage.difference(found, self.after(*o)) for o in orders), key=len)
            yield "the rows are as after no order of the two: " + "; ".join(nearest)

    def _is_mended_by_a_look(self, rows: stage.Rows, orders: Sequence[tuple[Call, ...]]) -> bool:
        """Say whether the next look takes what one that had begun before left.

        An operator's verb nudges after it has queued a step, so there is a next one.
        """
        expected = [self.after(*order, LOOK) for order in orders]
        stage.put_back(rows)
        one_after_the_other(self.sessions[0], self.bound(LOOK))
        return stage.picture(stage.kept()) in expected


def _may_have_left(call: Call, turn: Turn) -> bool:
    """Say whether a verb may have done nothing; an operator's is refused where it does not."""
    if isinstance(turn.result, SettleResult):
        return not turn.result.applied
    if isinstance(turn.result, ExpiryResult):
        return turn.result == ExpiryResult()
    is_told = call.place.startswith("operations.") and turn.result is None
    return isinstance(turn.result, Exception) or (not turn.result and not is_told)


def _bad_endings(turns: tuple[Turn, Turn]) -> Iterator[str]:
    for turn in turns:
        refused = isinstance(turn.result, SASError) and not isinstance(turn.result, LostRow)
        if isinstance(turn.result, Exception) and not refused:
            yield repr(turn.result)


def _claims(result: Any) -> list[Claim]:
    found = getattr(result, "claims", result)
    return [one for one in found if isinstance(one, Claim)] if isinstance(found, list) else []


@pytest.mark.fault("F18")
@pytest.mark.fault("F40")
@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("first", "setting"),
    [
        pytest.param(call, setting, id=f"{call.name} ({setting.__name__})")
        for call in CALLS
        for setting in call.settings
    ],
)
def test_a_verb_meets_every_other(first, setting, two):
    extent = os.environ.get("RACE_MATRIX", "")
    seed = int(os.environ.get("RACE_MATRIX_SEED", SEED))
    calls = CALLS
    if extent == "few":
        calls = (first, LOOK, *Random(f"{seed}:{first.name}:{setting.__name__}").sample(CALLS, FEW))
    with frozen_clock(NOW):
        beat_schedule.ensure_flow()
        scene = setting()
        scene.look()
        overdue = {one.invariant for one in invariants.violations()}
        on = Stage(scene, stage.kept(), two, overdue)
        points = on.points(first)
        assert points, f"{first.name} runs no statement: is it called as it is meant to be?"
        wrong = []
        # This thread only sets the stage and looks at it; the verbs run in the sessions'.
        with prepared_plans.prepared():
            for second in calls:
                drawn = Random(f"{seed}:{first.name}:{second.name}")
                others = points[1:]
                if extent != "full":
                    others = drawn.sample(others, int(bool(others) and drawn.random() < SHARE))
                wrong += [
                    f"{second.name} after statement {point}: {one}"
                    for point in [points[0], *others]
                    for one in on.race(first, second, point)
                ]
    assert not wrong, f"RACE_MATRIX_SEED={seed}: {len(wrong)} wrong\n" + "\n".join(wrong)
