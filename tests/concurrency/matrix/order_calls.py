"""How verbs on one order are called: the Scheduler's, agents', operators' and the rest."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from tests.concurrency.matrix import desk_scenes, order_scenes
from tests.concurrency.matrix.call import Call
from tests.concurrency.matrix.scene import AGENTS, DEFERRAL, FAULT, NOW, OPERATOR, Scene
from workers.client import operations, submission
from workers.models import Step
from workers.privacy import erase, persons
from workers.protocol.faults import FaultRecord
from workers.rules.apply_reply import carry_out_policies
from workers.rules.rows import NewProcess
from workers.store.claims import claim_steps, dead_workers, release
from workers.store.expire import expire_claims
from workers.store.locked import step_index
from workers.store.operate import after_restore, edit_input, record_answers
from workers.store.settle import filed_replies, settle_replies
from workers.testing.agent_processes import room as anywhere


def _note_death(scene: Scene) -> Any:
    return dead_workers.note("run-1", lambda name: True, "signal 9 (SIGKILL)")


def _release_unbegun(scene: Scene) -> Any:
    claim = scene.claim()
    delivery = Step.objects.values_list("delivery", flat=True).get(pk=claim.step_id)
    others = set(Step.objects.exclude(pk=claim.step_id).values_list("pk", flat=True))
    return release.unbegun(delivery or uuid4(), others, "worker")


def _submit(scene: Scene) -> None:
    submission.submit("race", subject="Order 2", input={"gift": False}, lane="acme")


def _submit_many(scene: Scene) -> None:
    more = [NewProcess(f"Order {n}", {"gift": False}, lane="acme") for n in (2, 3)]
    submission.submit_many("race", more)


def _answer(scene: Scene) -> Any:
    return record_answers.answer(
        scene.process_id, scene.step, {"result": {"n": 2}}, actor="callback"
    )


def _report(scene: Scene) -> Any:
    progress = {"percent": 40}
    return record_answers.report_progress(scene.process_id, scene.step, progress, key=scene.key)


def _edit(scene: Scene) -> Any:
    return edit_input.edit_input(scene.process_id, {"gift": True}, **OPERATOR)


def _steer(verb: Callable[..., Any], *words: Any, about_step: bool = True, **more: Any) -> Any:
    def run(scene: Scene) -> Any:
        named = (scene.step,) if about_step else ()
        return verb(scene.process_id, *named, *words, **more, **OPERATOR)

    return run


def _settle(*names: str, **kind: Any) -> Callable[[Scene], Any]:
    def run(scene: Scene) -> Any:
        replies = [scene.reply(name, **kind) for name in (names or ("",))]
        return settle_replies.settle(replies, "agent", own_room=anywhere())

    return run


def _settle_filed(scene: Scene) -> Any:
    return settle_replies.settle(filed_replies.filed(10), "scheduler", filed=True)


REFUSAL = FaultRecord("refused", "declined", "no")
AWAY = FaultRecord("unavailable", "http_503", "busy", retry_after=30.0)


CALLS: tuple[Call, ...] = (
    Call("submission.submit", _submit, (order_scenes.submitted,)),
    Call("submission.submit_many", _submit_many, (order_scenes.submitted,)),
    Call(
        "claim_steps.claim_due",
        lambda s: claim_steps.claim_due(AGENTS, anywhere()),
        (order_scenes.submitted, desk_scenes.rated),
    ),
    Call(
        "release.uncalled",
        lambda s: release.uncalled([s.claim()], "agent", "unknown here"),
        (order_scenes.claimed, order_scenes.turned_round),
    ),
    Call(
        "settle_replies.settle",
        _settle(),
        (order_scenes.at_work, order_scenes.last, order_scenes.turned_round, order_scenes.undoing),
    ),
    Call(
        "settle_replies.settle", _settle("left", "right"), (order_scenes.at_work,), "both branches"
    ),
    Call("settle_replies.settle", _settle("right"), (order_scenes.at_work,), "the other branch"),
    Call("settle_replies.settle", _settle(fault=FAULT), (order_scenes.at_work,), "a fault"),
    Call("settle_replies.settle", _settle(fault=AWAY), (order_scenes.at_work,), "unavailable"),
    Call("settle_replies.settle", _settle(fault=REFUSAL), (order_scenes.at_work,), "a refusal"),
    Call(
        "settle_replies.settle", _settle(deferral=DEFERRAL), (order_scenes.at_work,), "a deferral"
    ),
    Call("settle_replies.settle", _settle_filed, (order_scenes.filed,), "filed"),
    Call(
        "settle_replies.advance",
        lambda s: settle_replies.advance(
            [s.process_id], "scheduler", None, lambda p: carry_out_policies(p, "scheduler")
        ),
        (order_scenes.left_to_decide, order_scenes.past_deadline),
    ),
    Call(
        "filed_replies.file",
        lambda s: filed_replies.file(s.reply(), "agent"),
        (order_scenes.at_work,),
    ),
    Call(
        "release.release_unfinished",
        lambda s: release.release_unfinished("run-1", "worker"),
        (order_scenes.at_work, order_scenes.turned_round),
    ),
    Call("release.unbegun", _release_unbegun, (order_scenes.at_work,)),
    Call("release.unstarted", lambda s: release.unstarted("supervisor"), (order_scenes.of_before,)),
    Call("dead_workers.note", _note_death, (order_scenes.at_work,)),
    Call(
        "expire_claims.expire",
        lambda s: expire_claims.expire("supervisor"),
        (order_scenes.expired, order_scenes.unanswered, order_scenes.tired),
    ),
    Call(
        "expire_claims.extend_gap",
        lambda s: expire_claims.extend_gap(120, 10),
        (order_scenes.expired,),
    ),
    Call(
        "expire_claims.flag_overdue",
        lambda s: expire_claims.flag_overdue(),
        (order_scenes.past_deadline,),
    ),
    Call(
        "expire_claims.escalate",
        lambda s: expire_claims.escalate("supervisor"),
        (order_scenes.overdue,),
    ),
    Call(
        "step_index.mend",
        lambda s: step_index.mend([s.process_id]),
        (order_scenes.not_found, order_scenes.found_wrong),
    ),
    Call(
        "after_restore.mark",
        lambda s: after_restore.mark([s.process_id], NOW - timedelta(seconds=30), actor="restore"),
        (order_scenes.at_work,),
    ),
    Call("record_answers.answer", _answer, (order_scenes.deferred, order_scenes.claimed)),
    Call("record_answers.report_progress", _report, (order_scenes.deferred,)),
    Call(
        "record_answers.tell_of_lost_rows",
        lambda s: record_answers.tell_of_lost_rows("a key"),
        (order_scenes.submitted,),
    ),
    Call("edit_input.edit_input", _edit, (order_scenes.submitted,)),
    Call(
        "erase.erase",
        lambda s: erase.erase(s.process_id, **OPERATOR),
        (desk_scenes.long_over, desk_scenes.pruned),
    ),
    Call(
        "persons.erase",
        lambda s: persons.erase("ann@example.org", **OPERATOR),
        (desk_scenes.long_over,),
    ),
    Call(
        "operations.resubmit",
        _steer(operations.resubmit, about_step=False, nothing_happened=True),
        (order_scenes.in_error,),
    ),
    Call(
        "operations.undo",
        _steer(operations.undo, about_step=False, outcome="cancelled"),
        (order_scenes.at_work, order_scenes.claimed),
    ),
    Call(
        "operations.begin_again",
        _steer(operations.begin_again),
        (order_scenes.at_work, order_scenes.deferred),
    ),
    Call("operations.pause", _steer(operations.pause, about_step=False), (order_scenes.submitted,)),
    Call("operations.resume", _steer(operations.resume, about_step=False), (order_scenes.paused,)),
    Call("operations.retry", _steer(operations.retry), (order_scenes.parked,)),
    Call(
        "operations.postpone",
        _steer(operations.postpone, NOW + timedelta(hours=1)),
        (order_scenes.submitted, order_scenes.parked),
    ),
    Call(
        "operations.retime",
        _steer(operations.retime, 10),
        (order_scenes.claimed, order_scenes.expired),
    ),
    Call(
        "operations.complete",
        _steer(operations.complete, {"n": 3}),
        (order_scenes.claimed, order_scenes.in_error),
    ),
    Call(
        "operations.redo",
        _steer(operations.redo, may_happen_twice=True),
        (order_scenes.left_out, order_scenes.ended_without),
    ),
    Call("operations.skip", _steer(operations.skip), (order_scenes.in_error, order_scenes.parked)),
)
