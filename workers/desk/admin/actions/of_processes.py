"""Verbs on a process: pause it, try it again, undo it, erase what it says of persons."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.sentences import in_words, say_names
from workers.desk.admin import badges
from workers.desk.admin.actions.action import (
    NOBODY,
    Option,
    Outcome,
    Rehearsal,
    Section,
    Target,
    Verb,
    VerbForm,
    outcome_about,
)
from workers.models import Step
from workers.privacy import erase as erasing
from workers.rules import compensation, operator_commands, restart
from workers.rules.approved_acts import of_plan
from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.states import ProcessState, StepState


class Pause(Verb):
    name = "pause"
    label = lazy("Pause")
    button = lazy("Pause it")
    permission = "workers.pause_process"
    events: ClassVar = {"paused": lazy("Paused by an operator")}
    sentence = lazy(
        "Nothing of %(subject)s starts until somebody resumes it; its deadline still counts."
    )
    done_text = lazy("paused.")
    fact = "paused"
    operate = staticmethod(operations.pause)

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        operator_commands.pause(stage, NOBODY, "")

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        busy = [step.name for step in stage.steps if step.state == StepState.PROCESSING]
        yield Section(_("In flight: goes on to its end"), tuple(busy))


class Resume(Verb):
    name = "resume"
    label = lazy("Resume")
    button = lazy("Resume it")
    permission = "workers.pause_process"
    events: ClassVar = {"unpaused": lazy("Resumed by an operator")}
    sentence = lazy("%(subject)s goes on by itself from where it is.")

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        operator_commands.resume(stage, NOBODY, "")

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        ready = [step.name for step in stage.steps if step.state == StepState.PENDING]
        yield Section(_("Pending"), tuple(ready))

    operate = staticmethod(operations.resume)

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        return outcome_about(target, _("resumed."), paused=False)


def doubt(rehearsal: Rehearsal) -> str:
    """Return why only a person can say what a step in error did; empty if there is no such step."""
    if rehearsal.refusal(
        lambda stage: operator_commands.resubmit(stage, NOBODY, "", nothing_happened=True)
    ):
        return ""
    return rehearsal.refusal(lambda stage: operator_commands.resubmit(stage, NOBODY, ""))


class ResubmitForm(VerbForm):
    """Asks for one confirmation more if only a person can find out what a call did."""

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(target, data)
        why = doubt(target.rehearsal)
        if why:
            self.fields["nothing_happened"] = forms.BooleanField(
                label=_("I have made sure that nothing happened: call it again"),
                help_text=why,
            )


class Resubmit(Verb):
    """Give the steps in error their attempts back."""

    name = "resubmit"
    label = lazy("Resubmit")
    button = lazy("Resubmit")
    permission = "workers.resubmit_process"
    form = ResubmitForm
    options = (
        Option(
            "--nothing-happened",
            "nothing_happened",
            "resubmit: you found out that a step in doubt had no effect",
        ),
    )
    sentence = lazy(
        "Steps in error are tried again. Whatever is done already is kept, and "
        "%(subject)s then goes on by itself."
    )
    operate = staticmethod(operations.resubmit)

    def rehearse(self, target: Target, stage: LockedProcess) -> tuple[list[str], list[str]]:
        """Return the steps that only a person can vouch for, and those that are tried again."""
        doubtful = operator_commands.doubtful(stage)
        again = operator_commands.resubmit(stage, NOBODY, "", nothing_happened=True)
        return doubtful, again

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        doubtful: list[str] = result[0]
        return doubtful

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        steps = [step for step in target.process.steps.all() if step.name in result[1]]
        yield Section(_("Tried again"), tuple(map(_retry_text, steps)))

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        text = _("%(subject)s was resubmitted: %(steps)s.")
        params = {"subject": target.process.subject, "steps": in_words(say_names(result))}
        return Outcome(text % params, {"resubmitted": result})


def _retry_text(step: Step) -> str:
    text = _("%(step)s is given to %(agent)s again, with %(n)d attempts.") % {
        "step": step.name,
        "agent": step.agent,
        "n": step.failure_threshold,
    }
    if step.may_have_effect:
        key = _(
            "An earlier attempt may have had its effect. The service gets the same "
            "idempotency key again: %(key)s."
        ) % {"key": step.idempotency_key}
    else:
        key = _("No earlier attempt had an effect.")
    fault = badges.fault_text(step.fault)
    return " ".join(part for part in (text, f"({fault})" if fault else "", key) if part)


class _Undo(Verb):
    """Stop a process and undo what it did."""

    end: ClassVar[str]
    is_grave = True

    def check(self, target: Target) -> None:
        compensation.refuse_if_too_late(target.rehearsal.stage())

    def rehearse(self, target: Target, stage: LockedProcess) -> compensation.Plan:
        return compensation.begin(stage, self.end, NOBODY, "")

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        return of_plan(result)

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        return sections_of_undo(stage, result)

    def facts(self, result: Any) -> dict[str, Any]:
        return facts_of_undo(result)

    def operate(self, process_id: int, *step: Any, **data: Any) -> compensation.Plan:
        return operations.undo(process_id, outcome=self.end, **data)

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        names = in_words(say_names([undo.name for undo in result.undo]))
        text = _("stopped; nothing had to be undone.")
        if names:
            text = _("being undone: %(steps)s.") % {"steps": names}
        if result.lasting:
            lasting = _("Nothing undoes %(steps)s: the effect stays.")
            text = f"{text} {lasting % {'steps': in_words(say_names(result.lasting))}}"
        return outcome_about(target, text, **facts_of_undo(result))


class Cancel(_Undo):
    name = "cancel"
    label = lazy("Cancel")
    button = lazy("Cancel it")
    permission = "workers.cancel_process"
    end = ProcessState.CANCELLED
    sentence = lazy(
        "%(subject)s stops here, what it did is undone, and it ends as cancelled: "
        "somebody called it off."
    )


class Compensate(_Undo):
    name = "compensate"
    label = lazy("Undo")
    button = lazy("Undo it")
    permission = "workers.compensate_process"
    end = ProcessState.COMPENSATED
    sentence = lazy(
        "%(subject)s stops here, what it did is undone, and it ends as compensated: "
        "it could not be finished."
    )


def facts_of_undo(plan: compensation.Plan) -> dict[str, Any]:
    """Return what undoing entails, for programs."""
    return {"undo": [undo.name for undo in plan.undo], "lasting": list(plan.lasting)}


def sections_of_undo(stage: LockedProcess, plan: compensation.Plan) -> Iterable[Section]:
    """Return what undoing entails, for people; ``stage`` has just begun to compensate."""
    at_work = [step.name for step in stage.forward_steps if step.is_at_work]
    cancelled = [entry.detail["step"] for entry in stage.entries if _is_cancelled(entry)]
    persons = {*plan.by_hand, *plan.forgotten}
    yield Section(
        _("Undone, in this order"),
        tuple(
            _("%(undo)s by %(agent)s, for %(step)s")
            % {
                "undo": undo.name,
                "agent": _("a person") if undo.forward.name in persons else undo.agent,
                "step": undo.forward.name,
            }
            for undo in plan.undo
        ),
        is_ordered=True,
    )
    yield Section(_("Done by hand, so undone by hand: it stops there until then"), plan.by_hand)
    yield Section(
        _("Its outcome is unknown, and its service has forgotten the key: check there first"),
        plan.forgotten,
    )
    paused = _("It is paused: nothing is undone until somebody resumes it.")
    yield Section(_("Mind"), (paused,) if stage.is_paused else ())
    yield Section(_("At work just now: runs to its end first"), tuple(at_work))
    yield Section(_("Will not run"), tuple(cancelled))
    yield Section(_("May have had an effect, and nothing undoes it"), plan.lasting)


def _is_cancelled(entry: Entry) -> bool:
    return entry.step_id is not None and entry.after == StepState.CANCELLED


class BeginAgain(Verb):
    name = "begin_again"
    label = lazy("Begin again from here")
    button = lazy("Begin again")
    permission = "workers.renew_process"
    address = "<int:pk>/begin-again/<str:step>/"
    is_grave = True
    sentence = lazy(
        "%(step)s and what came after it are undone and then done again, each with a new "
        "idempotency key; %(subject)s goes on from there by itself."
    )
    operate = staticmethod(operations.begin_again)

    def check(self, target: Target) -> None:
        restart.steps_from(target.rehearsal.stage(), target.step_name)

    def rehearse(self, target: Target, stage: LockedProcess) -> restart.Renewal:
        return restart.begin(stage, target.step_name, NOBODY, "")

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        return of_plan(result.undo)

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        yield from sections_of_undo(stage, result.undo)
        yield Section(_("Begin again"), result.steps, is_ordered=True)

    def facts(self, result: Any) -> dict[str, Any]:
        return {"steps": list(result.steps), **facts_of_undo(result.undo)}

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        text = _("begins again: %(steps)s.") % {"steps": in_words(say_names(result.steps))}
        return outcome_about(target, text, **self.facts(result))


class Erase(Verb):
    """Erase the personal data of a process that has ended."""

    name = "erase"
    label = lazy("Erase personal data")
    button = lazy("Erase them")
    permission = "workers.erase_process"
    is_grave = True
    events: ClassVar = {"erased": lazy("Its personal data were erased")}
    sentence = lazy(
        "These parts of the input become ***, and so do their values in results, journal, "
        "notes and the application's own rows. Nobody can bring them back."
    )
    operate = staticmethod(erasing.erase)

    def rehearse(self, target: Target, stage: LockedProcess) -> list[str]:
        return erasing.plan(stage)

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        paths: list[str] = result
        return paths

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        yield Section(_("Erased"), tuple(result))

    def facts(self, result: Any) -> dict[str, Any]:
        return {"erased": result}

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        return outcome_about(target, _("its personal data are erased."), erased=result)
