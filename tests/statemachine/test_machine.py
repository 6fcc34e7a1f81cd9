"""Whatever happens, in any order: nothing is lost and nothing happens twice.

``STATEMACHINE_EXAMPLES`` is how many examples there are in all, ``STATEMACHINE_SEED`` what they
are drawn from; a failure says its seed.  Run it with other seeds after a change to the engine.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.statemachine.machine import Engine
from workers.rules.transitions import LockedProcess
from workers.states import StepState
from workers.store.locked import load
from workers.supervisor import beat_schedule

PARTS = 4
STEPS = 50
#: The same examples in every run; another seed draws others.
SEED = 20_261_129
#: In all; PostgreSQL takes longer for each and meets the same decisions.
EXAMPLES = {"sqlite": 300, "postgresql": 40}
#: Small numbers, so that thresholds are reached within an example.
SETTINGS = {"SAS_FAILURE_THRESHOLD": 2, "SAS_UNDO_THRESHOLD": 2, "SAS_BREAKER_THRESHOLD": 3}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("same_material")]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep the logs of thousands of mishaps out of the way; a failure shows the moves."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True)
def unhurried(db) -> None:
    """Let an example take its time: it is one transaction, and no frozen process holds it."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for limit in (
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
            ):
                cursor.execute("SELECT set_config(%s, '0', true)", [limit])


@pytest.fixture(autouse=True)
def steps_at_work_are_written_first(monkeypatch) -> Iterator[None]:
    """Steps that agents start and file for are locked in order: by the first part of a write."""
    late: list[str] = []
    real = load.write_part
    is_second = False

    def write(processes: Sequence[LockedProcess], *, only_steps: bool = False) -> Any:
        nonlocal is_second
        if is_second:
            late.extend(
                f"{locked.process.subject}: {locked.step(step_id)}"
                for locked in processes
                for step_id, origin in locked.step_origins.items()
                if origin.state == StepState.PROCESSING
            )
        is_second = only_steps
        return real(processes, only_steps=only_steps)

    monkeypatch.setattr(load, "write_part", write)
    yield
    assert late == []


@pytest.mark.parametrize(
    "part",
    [1, *(pytest.param(part, marks=pytest.mark.volume) for part in range(2, PARTS + 1))],
    ids=lambda part: f"part {part}",
)
def test_whatever_happens_the_engine_is_sound(part):
    beat_schedule.ensure_flow()
    examples = int(os.environ.get("STATEMACHINE_EXAMPLES", EXAMPLES[connection.vendor]))
    drawn_from = int(os.environ.get("STATEMACHINE_SEED", SEED))
    # A class of its own: the seed is kept on it.
    machine = seed(drawn_from + part)(type("Engine", (Engine,), {}))
    options = settings(
        max_examples=max(1, examples // PARTS),
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        with override_settings(**SETTINGS):
            run_state_machine_as_test(machine, settings=options)
    except BaseException as error:
        error.add_note(f"Drawn from STATEMACHINE_SEED={drawn_from}, part {part}.")
        raise
