"""What an application imports from `workers`, and what its verbs wake."""

import ast
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

import workers
from tests import programs
from tests.integration.conftest import rows
from tests.toyflow import agents as toy
from tests.toyflow.faults import refuse
from tests.toyflow.workflows import LINE
from workers import scheduler
from workers.definitions import registry
from workers.models import Step
from workers.wire import dispatch

ROOT = Path(workers.__file__).parent


def busy(call: workers.Call) -> dict[str, Any]:
    raise workers.Unavailable("busy", "not now", retry_after=900)


def test_every_name_of_the_public_face_is_there_and_in_order():
    assert workers.__all__ == sorted(workers.__all__)
    assert all(getattr(workers, name) is not None for name in workers.__all__)
    assert set(workers.__all__) <= set(dir(workers))
    with pytest.raises(AttributeError, match="has no attribute 'sumbit'"):
        workers.sumbit  # noqa: B018


def test_a_workflow_is_submitted_by_its_name_or_itself():
    process = workers.submit(LINE, subject="Toy", input={})

    assert (process.workflow, process.version) == (LINE.name, LINE.version)


@pytest.mark.parametrize(
    ("use", "error", "says"),
    [
        (
            lambda: workers.submit("toy_lone", subject="Toy", input={}),
            workers.UnknownWorkflow,
            "Register it in a workflows module, or use toy_line",
        ),
        (
            lambda: registry.agent("toy.alhpa"),
            workers.UnknownAgent,
            "Register it in an agents module, or use toy.alpha",
        ),
        (lambda: workers.status(999), workers.StateError, "There is no process 999."),
        (
            lambda: workers.cancel(Step(), actor="ann", reason="by its row"),  # type: ignore[arg-type]
            TypeError,
            "process_id must be a whole number, got <Step: ",
        ),
        (
            lambda: workers.fail_step(1, "one", ValueError("x"), actor="ann"),  # type: ignore[arg-type]
            TypeError,
            "fault must be Refused, Permanent or Transient, got ValueError('x').",
        ),
        (
            lambda: workers.Deferred(5, permission="approve"),
            ValueError,
            "permission must be \"app.codename\", got 'approve'.",
        ),
    ],
    ids=["workflow", "agent", "status", "process", "fault", "permission"],
)
def test_a_wrong_use_says_what_to_do(use, error, says):
    with pytest.raises(error) as refusal:
        use()

    assert says in str(refusal.value)


def test_no_module_of_the_package_takes_a_public_name():
    """Or importing it would put the module where the verb was."""
    modules = {path.stem for path in ROOT.iterdir()}

    assert modules.isdisjoint(workers.__all__)


def test_type_checkers_see_what_is_imported_later():
    tree = ast.parse((ROOT / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert seen == workers._LATER


@pytest.mark.parametrize(
    "script",
    [
        "import workers, sys; assert 'django.db.models' not in sys.modules; workers.step",
        "from sasproject.celery import app; import sys; app.loader.import_default_modules();"
        "from workers.celery import starting; list(starting.problems('worker'));"
        "probes = ('workers.ops.doctor', 'workers.ops.invariant', 'prometheus_client');"
        "assert not [name for name in sys.modules if name.startswith(probes)], sys.modules;"
        "from workers.ops.doctor import settings; list(settings.system_checks());"
        "from orders.models import Order; from orders.agents.confirmation import MAILS;"
        "Order(secret='a').get_absolute_url(); MAILS.get_template('orders/notice_mail.txt');"
        "assert not [name for name in sys.modules if name.startswith('workers.desk.admin')]",
    ],
    ids=["the package no models", "a worker neither pages nor probes"],
)
def test_it_loads_no_more_than_it_needs(script):
    ran = programs.python("-c", script)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_process_is_submitted_looked_at_paused_and_resumed(wire):
    process = workers.submit("toy_line", subject="Toy 1", input={})
    workers.pause(process.pk, actor="ann", reason="stocktaking")
    wire.run_until_idle()
    assert workers.status(process.pk).state == "pending"

    workers.resume(process.pk, actor="ann", reason="done")
    wire.run_until_idle()

    assert workers.status(process.pk).state == "processed"


def test_a_cancelled_process_goes_back_by_itself(wire):
    process = workers.submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()

    workers.cancel(process.pk, actor="ann", reason="changed her mind")
    wire.run_until_idle()

    assert workers.status(process.pk).state == "cancelled"
    before = rows()
    with pytest.raises(workers.StateError):
        workers.cancel(process.pk, actor="ann", reason="twice")
    assert rows() == before


def test_a_step_in_error_is_resubmitted_and_a_resting_one_retried(wire):
    process = workers.submit("toy_line", subject="Toy 1", input={})
    toy.script["toy.alpha"] = busy
    wire.run_until_idle()
    (resting,) = [step for step in workers.status(process.pk).steps if step.name == "one"]
    assert resting.state == "pending"

    toy.script["toy.alpha"] = refuse
    workers.retry(process.pk, "one", actor="ann", reason="it is back")
    wire.run_until_idle()
    assert Step.objects.get(process=process, name="one").state == "error"

    toy.script.clear()
    assert workers.resubmit(process.pk, actor="ann", reason="mended") == ["one"]
    wire.run_until_idle()

    assert workers.status(process.pk).state == "processed"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["cancel", "resume", "resubmit"])
def test_a_verb_wakes_the_scheduler_once_its_rows_are_committed_and_not_before(
    verb, monkeypatch, wire
):
    process = workers.submit("toy_line", subject="Toy 1", input={})
    if verb == "resume":
        workers.pause(process.pk, actor="ann", reason="")
    if verb == "resubmit":
        toy.script["toy.alpha"] = refuse
        wire.run_until_idle()
    woken: list[int] = []
    monkeypatch.setattr(dispatch, "wake_scheduler_later", lambda: woken.append(1))

    with transaction.atomic():
        getattr(workers, verb)(process.pk, actor="ann", reason="")
        assert woken == []

    assert woken == [1]
