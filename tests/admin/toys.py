"""Processes of the toy workflows, each brought to where an operator has something to do."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from tests.toyflow import agents as toy
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.exceptions import Permanent, Transient
from workers.models import Process, Step
from workers.privacy import erase
from workers.supervisor import beat_schedule
from workers.testing import Wire


def raises(fault: Exception) -> Callable[[Call], dict[str, Any]]:
    def run(call: Call) -> dict[str, Any]:
        raise fault

    return run


def begun(wire: Wire, workflow: str, subject: str = "Toy 1", **input_: Any) -> Process:
    """Submit a process and let it go as far as it goes."""
    beat_schedule.ensure_flow()
    process = submit(workflow, subject=subject, input=input_)
    wire.run_until_idle()
    process.refresh_from_db()
    return process


def asked(wire: Wire, subject: str = "Toy 1", **deferral: Any) -> Process:
    """A process whose step ``ask`` waits for an answer."""
    toy.script["toy.alpha"] = lambda call: Deferred(
        **{"within_seconds": 7200, "question": "is it paid?", **deferral}
    )
    return begun(wire, "toy_answered", subject, total="1480.00", note="<b>bold</b>")


def failed(wire: Wire, subject: str = "Toy 1") -> Process:
    """A process whose last step, ``then``, is in error; what came before is done."""
    toy.script["toy.gamma"] = raises(Permanent("gone", "no such account", no_effect=True))
    return begun(wire, "toy_answered", subject)


def resting(wire: Wire, subject: str = "Toy 1") -> Process:
    """A process whose step ``two`` is tried again in an hour."""
    toy.script["toy.beta"] = raises(Transient("busy", "answered 500"))
    process = begun(wire, "toy_line", subject)
    later = timezone.now() + timedelta(hours=1)
    Step.objects.filter(process=process, name="two").update(not_before=later)
    return process


def without_mail(wire: Wire, subject: str = "Toy 1", *, is_known: bool = True) -> Process:
    """A processed process whose optional step ``mail`` failed and was skipped."""
    fault = Permanent("gone", "the mail server refused it", no_effect=is_known)
    toy.script["toy.mailer"] = raises(fault)
    return begun(wire, "toy_optional", subject)


def paused(wire: Wire, subject: str = "Toy 1") -> Process:
    process = asked(wire, subject)
    operations.pause(process.pk, actor="operator:ann", reason="stocktaking")
    process.refresh_from_db()
    return process


def editable(wire: Wire, subject: str = "Toy 1") -> Process:
    """A process whose step ``send`` has not begun, and of whose input some may be changed."""
    beat_schedule.ensure_flow()
    given = {"customer": {"name": "Ada", "address": "1 High Street"}, "gift": False}
    return submit("toy_editable", subject=subject, input=given)


def of_ada(wire: Wire, subject: str = "Toy 1") -> Process:
    """A process that is processed, and whose input says who it is about."""
    given = {"customer": {"name": "Ada", "mail": "ada@example.org"}, "n": 1}
    process = submit("toy_personal", subject=subject, input=given)
    wire.run_until_idle()
    return Process.objects.get(pk=process.pk)


def done(wire: Wire, process: Process) -> None:
    """Bring a process to its end: undone, with nothing left out, or erased."""
    toy.script.clear()
    if process.workflow == "toy_personal":
        erase.erase(process.pk, actor="operator:ann", reason="asked by post")
        return
    if process.state == "processed":
        operations.redo(process.pk, "mail", actor="operator:ann", reason="it is back")
        wire.run_until_idle()
        return
    if process.paused_at is not None:
        operations.resume(process.pk, actor="operator:ann", reason="go on")
    operations.undo(process.pk, outcome="cancelled", actor="operator:ann", reason="enough")
    wire.run_until_idle()
