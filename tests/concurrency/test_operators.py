"""Two operators set one step's time at once: the second is told, whoever comes first."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.concurrency.matrix.pausing import Session, meet, one_after_the_other
from tests.integration.conftest import NOW, only
from workers.client.submission import submit
from workers.desk.admin import snapshot
from workers.desk.admin.actions.action import Target
from workers.desk.admin.actions.of_steps import Retime
from workers.exceptions import StateError
from workers.models import Journal, Process
from workers.store.db import dialect
from workers.supervisor import beat_schedule

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sessions(transactional_db) -> Iterator[tuple[Session, Session]]:
    beat_schedule.ensure_flow()
    pair = Session(), Session()
    yield pair
    for session in pair:
        session.close()


def setting(process: Process, seconds: int) -> Callable[[], Any]:
    """Return an operator's click on a page that shows the step's time as it is now."""
    fetched = snapshot.with_steps(Process.objects.all()).get(pk=process.pk)
    target = Target.of(fetched, dialect.read_clock()).at("one")
    assert target is not None
    assert target.step is not None
    given = {"seen": str(target.step.timeout_seconds), "seconds": seconds}
    given |= {"sequence": fetched.sequence, "reason": "because"}
    return lambda: Retime().apply(target, f"operator:{seconds}", dict(given))


@pytest.mark.postgresql
@pytest.mark.fault("F40")
def test_of_two_times_set_at_once_none_is_lost(sessions):
    (alone,) = one_after_the_other(sessions[0], setting(submit_one(), 59))
    statements = len(alone.gate.statements)
    assert statements > 1

    for after in range(1, statements + 1):
        process = submit_one()
        turns = meet(sessions, setting(process, 60), setting(process, 61), after)

        refused = [turn.result for turn in turns if isinstance(turn.result, StateError)]
        assert len(refused) == 1, [turn.result for turn in turns]
        assert "has been set since" in str(refused[0])
        retimed = Journal.objects.filter(process=process, event="retimed")
        (actor,) = retimed.values_list("actor", flat=True)
        assert actor == f"operator:{only(process, 'one').timeout_seconds}"


def submit_one() -> Process:
    return submit("toy_line", subject="Toy 1", input={}, now=NOW)
