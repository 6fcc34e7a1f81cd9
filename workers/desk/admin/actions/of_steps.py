"""Verbs on a step: try it, give it time, have it wait, end it by hand, do it again."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.effects import Effect
from workers.desk.admin import badges
from workers.desk.admin.actions.action import (
    NOBODY,
    Option,
    Outcome,
    Section,
    Target,
    Verb,
    VerbForm,
    outcome_about,
)
from workers.exceptions import MessageError, StateError
from workers.management.terminal import instant, json_object
from workers.models import Step
from workers.protocol.messages import storable
from workers.rules import operator_commands, overdue_answers
from workers.rules.transitions import LockedProcess
from workers.runtime import timestamps
from workers.runtime.failpoints import durable
from workers.states import FINAL_PROCESS_STATES, ProcessState
from workers.store.operate import steering


class Retry(Verb):
    """Try a step again at once, without the remainder of its backoff, delay or rest."""

    name = "retry"
    label = lazy("Try now")
    button = lazy("Try it now")
    permission = "workers.retry_step"
    address = "<int:pk>/steps/<str:step>/retry/"
    events: ClassVar = {"hurried": lazy("Tried again without waiting")}
    done_text = lazy("%(step)s is tried now.")
    fact = "retried"
    operate = staticmethod(operations.retry)

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        operator_commands.retry_now(stage, target.step_name, NOBODY, "")

    def says(self, target: Target) -> str:
        assert target.step is not None
        assert target.step.not_before is not None
        text = _(
            "%(step)s does not wait until %(at)s: it goes to %(agent)s as soon as there is "
            "room. Its counts stay as they are."
        )
        return text % {**target.words, "at": timestamps.full(target.step.not_before)}

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        yield _fault(_("It waits because"), target)


class PostponeForm(VerbForm):
    until = forms.DateTimeField(
        label=lazy("Until"),
        help_text=lazy("In the time zone that the page names."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    field_order = ("until", "reason")

    def clean_until(self) -> datetime:
        until: datetime = self.cleaned_data["until"]
        name, step = self.target.step_name, self.target.step
        if step is not None and until == step.not_before:
            # Left to the store: somebody has done this already.
            return until
        self.check(lambda stage: operator_commands.postpone(stage, name, until, NOBODY, ""))
        return until


class Postpone(Verb):
    """Have a step wait until an instant."""

    name = "postpone"
    label = lazy("Postpone")
    button = lazy("Postpone it")
    permission = "workers.extend_step"
    address = "<int:pk>/steps/<str:step>/postpone/"
    form = PostponeForm
    options = (
        Option(
            "--until",
            "until",
            "postpone: such as 2026-11-21T09:30:00+00:00",
            "Say until when, with --until.",
            instant,
        ),
    )
    events: ClassVar = {"postponed": lazy("Postponed")}
    sentence = lazy(
        "%(step)s will not start before the time you give. Its counts stay as they are, and the"
        " deadline of %(subject)s still counts."
    )
    operate = staticmethod(operations.postpone)

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        operator_commands.refuse_to_postpone(stage, target.step_name)

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        name, until = target.step_name, data["until"]
        text = _("%(step)s waits until %(at)s.") % {"step": name, "at": timestamps.full(until)}
        return outcome_about(target, text, postponed=name, until=until)


class RetimeForm(VerbForm):
    seconds = forms.IntegerField(label=lazy("Seconds"), min_value=1)
    #: The step's time as the operator saw it: setting it does not move the process's sequence.
    seen = forms.CharField(widget=forms.HiddenInput, max_length=100)

    field_order = ("seconds", "reason")

    def __init__(self, target: Target, data: Any = None) -> None:
        super().__init__(target, data)
        step = target.step
        assert step is not None
        self.initial["seen"] = _time_of(step)
        if step.deferral is None:
            self.initial["seconds"] = step.spec.timeout_seconds
            self.fields["seconds"].help_text = _("%(from)d to %(to)d, for each attempt.") % {
                "from": operator_commands.SHORTEST,
                "to": operator_commands.LONGEST,
            }
        else:
            self.fields["seconds"].help_text = _("From now on, for the answer to come.")

    def clean_seconds(self) -> int:
        seconds: int = self.cleaned_data["seconds"]
        name, step = self.target.step_name, self.target.step
        if step is not None and seconds == step.spec.timeout_seconds:
            # Left to the store, which refuses it, or says that somebody else was quicker.
            return seconds
        self.check(lambda stage: operator_commands.retime(stage, name, seconds, NOBODY, ""))
        return seconds


class Retime(Verb):
    """Give a step more time, or less."""

    name = "retime"
    label = lazy("Set time")
    button = lazy("Set the time")
    permission = "workers.extend_step"
    address = "<int:pk>/steps/<str:step>/retime/"
    form = RetimeForm
    options = (
        Option("--seconds", "seconds", "retime: the time the step has", type=int, default=0),
    )
    events: ClassVar = {"retimed": lazy("Its time was set")}

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        step = target.step
        assert step is not None
        if target.process.state in FINAL_PROCESS_STATES:
            text = _("%(subject)s is %(state)s: no time limit is running.")
            raise StateError(text % target.words)
        # Any time other than the present one.
        other_seconds = step.spec.timeout_seconds % operator_commands.LONGEST + 1
        operator_commands.retime(stage, step.name, other_seconds, NOBODY, "")

    def says(self, target: Target) -> str:
        step = target.step
        assert step is not None
        if step.deferral is not None and step.complete_by is not None:
            text = _("%(step)s waits for an answer until %(at)s. Set how long from now on.")
            return text % {"step": step.name, "at": timestamps.full(step.complete_by)}
        text = _(
            "%(step)s has %(seconds)d s for each attempt. A shorter time applies at once; a"
            " longer one after the present attempt, or at once if none has begun."
        )
        return text % {"step": step.name, "seconds": step.spec.timeout_seconds}

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        assert target.step is not None
        return {**super().data_of(target, options), "seen": _time_of(target.step)}

    def apply(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        seen_time, seconds = data.pop("seen"), data.pop("seconds")
        name = target.step_name
        with durable("of_steps.retime"):
            # The process's lock keeps others out between this check and the change.
            steering.lock(target.process.pk, data["sequence"], None)
            step = Step.objects.get(process=target.process, name=name)
            if _time_of(step) != seen_time:
                why = _("The time of %(step)s has been set since the page was opened. Look again.")
                raise StateError(why % {"step": name})
            operations.retime(target.process.pk, name, seconds, actor=actor, **data)
        text = _("%(step)s has a time limit of %(seconds)d s now.")
        params = {"step": name, "seconds": seconds}
        return outcome_about(target, text % params, retimed=name, seconds=seconds)


def _time_of(step: Step) -> str:
    if step.deferral is not None and step.complete_by is not None:
        return step.complete_by.isoformat()
    return str(step.spec.timeout_seconds)


class CompleteForm(VerbForm):
    result = forms.JSONField(
        label=lazy("Result"),
        required=False,
        initial=dict,
        help_text=lazy("A JSON object, as the agent would have answered; later steps read it."),
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
    )

    field_order = ("result", "reason")

    def clean_result(self) -> dict[str, Any]:
        result = self.cleaned_data["result"]
        if result is None:
            return {}
        if not isinstance(result, dict):
            raise forms.ValidationError(lazy('A result is a JSON object, such as {"id": 1}.'))
        try:
            storable(result)
        except MessageError as error:
            raise forms.ValidationError(str(error)) from error
        return result


class _Ending(Verb):
    """A verb that ends a step, which counts as an answer if the step asks a person."""

    def permissions_for(self, target: Target) -> tuple[str, ...]:
        assert target.step is not None
        permission = overdue_answers.permission_to_answer(target.step)
        return (*super().permissions_for(target), *((permission,) if permission else ()))

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        return (target.step_name,)


class Complete(_Ending):
    name = "complete"
    label = lazy("Complete by hand")
    button = lazy("Complete it")
    permission = "workers.complete_step"
    address = "<int:pk>/steps/<str:step>/complete/"
    form = CompleteForm
    options = (
        Option(
            "--result", "result", "complete, answer: a JSON object", type=json_object, default={}
        ),
    )
    kept = ("result",)
    sentence = lazy(
        "%(step)s counts as done, with the result you give, and no agent is asked again."
    )
    done_text = lazy("%(step)s is done.")
    fact = "completed"
    operate = staticmethod(operations.complete)

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        operator_commands.complete(stage, target.step_name, {}, NOBODY, "")

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        step = target.step
        assert step is not None
        undone = _(
            "If it has to be undone, a person must do that: no service can undo what was done"
            " by hand."
        )
        spec = step.spec
        has_undo = spec.undo is not None and spec.undo.get("agent") and spec.effect != Effect.NONE
        yield Section(_("Afterwards"), (undone,) if has_undo else ())
        doubt = _("An earlier attempt may have had its effect as well: check the service first.")
        yield Section(_("Mind"), (doubt,) if step.is_in_doubt else ())


class Skip(_Ending):
    """Go on without a step."""

    name = "skip"
    label = lazy("Skip")
    button = lazy("Skip it")
    permission = "workers.skip_step"
    address = "<int:pk>/steps/<str:step>/skip/"
    is_grave = True
    sentence = lazy("%(subject)s goes on without %(step)s.")
    done_text = lazy("%(step)s was skipped.")
    fact = "skipped"
    operate = staticmethod(operations.skip)

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        operator_commands.skip(stage, target.step_name, NOBODY, "")

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        step = target.step
        assert step is not None
        steps = target.process.steps.all()
        after = [other.name for other in steps if step.name in other.spec.after]
        yield Section(_("Come next, without its result"), tuple(after))
        moves = _(
            "What it moves, such as a payment or a parcel, never happens: who takes care of it?"
        )
        doubt = _("An earlier attempt may have had its effect; it is kept.")
        has_undo = step.spec.undo is not None and step.spec.undo.get("agent")
        yield _mind((moves, bool(has_undo)), (doubt, step.may_have_effect))


class RedoForm(VerbForm):
    """Asks for one confirmation more if it is unknown whether the step happened."""

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(target, data)
        name = target.step_name
        why = target.rehearsal.refusal(
            lambda stage: operator_commands.redo(stage, name, NOBODY, "")
        )
        if why and not target.rehearsal.refusal(
            lambda stage: operator_commands.redo(stage, name, NOBODY, "", may_happen_twice=True)
        ):
            self.fields["may_happen_twice"] = forms.BooleanField(
                label=_("It may happen twice: do it again all the same"), help_text=why
            )


class Redo(Verb):
    """Do a skipped step again once the cause of its failure is fixed."""

    name = "redo"
    label = lazy("Do again")
    button = lazy("Do it again")
    permission = "workers.redo_step"
    address = "<int:pk>/steps/<str:step>/redo/"
    form = RedoForm
    options = (
        Option(
            "--may-happen-twice",
            "may_happen_twice",
            "redo: accept that a step with an unknown outcome may happen twice",
        ),
    )
    done_text = lazy("%(step)s is done again.")
    fact = "redone"
    operate = staticmethod(operations.redo)

    def rehearse(self, target: Target, stage: LockedProcess) -> list[str]:
        name = target.step_name
        return operator_commands.redo(stage, name, NOBODY, "", may_happen_twice=True)

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        names: list[str] = result
        return names

    def says(self, target: Target) -> str:
        text = _(
            "%(step)s is given to %(agent)s again, with %(n)d attempts and the same idempotency"
            " key."
        )
        if target.process.state == ProcessState.PROCESSED:
            text += " " + _(
                "%(subject)s is processed once more when that has ended; nothing of it is undone."
            )
        return text % target.words

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        yield _fault(_("It was skipped because"), target)
        twice = _("Its outcome is unknown: it may happen twice.")
        paused = _("It is paused: nothing starts until somebody resumes it.")
        yield _mind((twice, bool(result)), (paused, stage.is_paused))


def _fault(title: str, target: Target) -> Section:
    fault = badges.fault_text(target.step.fault) if target.step is not None else ""
    return Section(title, (fault,) if fault else ())


def _mind(*notes: tuple[str, bool]) -> Section:
    return Section(_("Mind"), tuple(text for text, applies in notes if applies))
