"""A verb: one thing that an operator may do to a process or one of its steps, and its rehearsal."""

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from django import forms
from django.core.management.base import CommandError
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.desk.admin import masking, showing, snapshot
from workers.desk.admin.actions import places
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.places import Place
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.masking import UNMASKED, Mask
from workers.desk.admin.wording import Text
from workers.exceptions import StateError
from workers.models import Process, Step
from workers.protocol.faults import FaultRecord
from workers.rules.approved_acts import Act
from workers.rules.rows import ProcessRow, StepRow
from workers.rules.transitions import LockedProcess
from workers.rules.two_persons import NEEDS_ANOTHER
from workers.states import PEOPLE
from workers.store.db import dialect
from workers.store.operate import two_persons

T = TypeVar("T")

#: The actor of a rehearsal, whose journal entries are thrown away.
NOBODY = "rehearsal"
#: ``is_told`` matters only when the row is written.
_PROCESS = tuple(field.name for field in fields(ProcessRow) if field.name != "is_told")
#: Without large columns that no verb reads.
_STEP = tuple(field.name for field in fields(StepRow) if field.name not in ("result", "is_filed"))


class Rehearsal:
    """Tries verbs, one after another, on a process as it was read."""

    def __init__(self, process: Process, now: datetime) -> None:
        """Take over a process that was read with its steps."""
        self._process = process
        self._steps = sorted(process.steps.all(), key=lambda step: step.position)
        self._indexes = {step.pk: index for index, step in enumerate(self._steps)}
        self._now = now
        self._stage: LockedProcess | None = None

    def stage(self) -> LockedProcess:
        """Return the rows as they were read, for one verb; good until the next call.

        Copies anew only the rows that the previous verb touched: a page tries several verbs for
        each of its steps.  A verb that changed a row without touching it would change nothing in
        the store either.
        """
        if self._stage is None:
            steps = [_row(step) for step in self._steps]
        else:
            steps = self._stage.steps
            for step_id in self._stage.step_origins:
                index = self._indexes[step_id]
                steps[index] = _row(self._steps[index])
        process = ProcessRow(**{name: getattr(self._process, name) for name in _PROCESS})
        self._stage = LockedProcess(process, steps, self._now)
        return self._stage

    def refusal(self, verb: Callable[[LockedProcess], object]) -> str:
        """Return why ``verb`` would be refused; empty when it would not."""
        try:
            verb(self.stage())
        except StateError as error:
            return str(error)
        return ""


def _row(step: Step) -> StepRow:
    values = {name: getattr(step, name) for name in _STEP}
    return StepRow(**values | {"fault": FaultRecord.from_json(step.fault)})


@dataclass(frozen=True, slots=True)
class Target:
    """What a verb acts on: a process as it was read, and one of its steps or none."""

    process: Process
    now: datetime
    rehearsal: Rehearsal
    step: Step | None = None
    #: Hides personal data from users who may not see it now.
    mask: Mask = UNMASKED

    @classmethod
    def of(cls, process: Process, now: datetime, mask: Mask = UNMASKED) -> "Target":
        return cls(process, now, Rehearsal(process, now), mask=mask)

    def at(self, name: str) -> "Target | None":
        """Return the target for a step of the process; None if there is no such step."""
        step = next((step for step in self.process.steps.all() if step.name == name), None)
        return None if step is None else replace(self, step=step)

    @property
    def step_name(self) -> str:
        assert self.step is not None
        return self.step.name

    @property
    def words(self) -> dict[str, Any]:
        """Return what a verb's sentences may name."""
        words: dict[str, Any] = {
            "subject": self.process.subject,
            "state": self.process.state,
        }
        if self.step is not None:
            step = self.step
            words |= {"step": step.name, "agent": step.agent, "n": step.failure_threshold}
        return words


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a preview: a title, and what it lists."""

    title: str
    items: tuple[str, ...]
    is_ordered: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """What will happen: one sentence, and details."""

    sentence: str
    sections: tuple[Section, ...] = ()
    #: On the button; empty for the verb's own text.
    button: str = ""
    #: The same for programs.
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verb did: a message to the operator, and the facts for programs."""

    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)


class ReasonForm(forms.Form):
    """Asks why an operator acts; the reason goes into the journal."""

    reason = forms.CharField(
        label=lazy("Reason"),
        max_length=500,
        help_text=lazy("Kept in the journal with your name."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class VerbForm(ReasonForm):
    #: The process's as the operator saw it: the verb is refused if the process has moved since.
    sequence = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    #: False where a valid form is shown once more before the verb is carried out.
    is_confirmed = True

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial={"sequence": target.process.sequence})
        self.target = target

    def check(self, verb: Callable[[LockedProcess], object]) -> None:
        """Raise ``ValidationError`` with the reason if the rules refuse what was entered."""
        if why := self.target.rehearsal.refusal(verb):
            raise forms.ValidationError(why)

    def outdated(self) -> str:
        """Return a message if the process has moved since the page was opened; empty if not."""
        process = self.target.process
        if self.cleaned_data.get("sequence", process.sequence) == process.sequence:
            return ""
        text = _("%(subject)s has moved since the page was opened. Look again.")
        return text % {"subject": process.subject}


@dataclass(frozen=True, slots=True)
class Option:
    """What a verb asks at a terminal: an option, and the value of the form's data it gives."""

    flag: str
    name: str
    help: str
    #: The refusal without it; empty for an option that may be left out.
    missing: str = ""
    type: Callable[[str], Any] | None = None
    default: Any = None

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        if self.type is None:
            parser.add_argument(self.flag, dest=self.name, action="store_true", help=self.help)
        else:
            parser.add_argument(
                self.flag, dest=self.name, type=self.type, default=self.default, help=self.help
            )


class Verb(RowAct):
    """One verb: its URL, permission, preview, options, words, and the engine's verb behind it.

    Everything that a page, the terminal, the journal's readers and a request for approval know of
    a verb is declared here, once.  Its sentences may name what ``Target.words`` has.
    """

    model = Process
    form: type[VerbForm] = VerbForm
    template = "admin/workers/verb.html"
    #: The sentence of its preview.
    sentence: Text = ""
    #: Its name at a terminal, if that is not ``name`` with hyphens.
    command: ClassVar[str] = ""
    #: What it asks at a terminal, beside the step and the reason.
    options: ClassVar[tuple[Option, ...]] = ()
    #: Sentences for the journal's events that only this verb writes, by event.
    events: ClassVar[Mapping[str, Text]] = {}
    #: What its message says after the subject.
    done_text: ClassVar[Text] = ""
    #: The fact for programs; its value is the step's name, or True.
    fact: ClassVar[str] = ""
    #: Names of the form's data that a request for approval keeps, beside the reason.
    kept: ClassVar[tuple[str, ...]] = ()

    @property
    def is_of_step(self) -> bool:
        return "<str:step>" in self.address

    @property
    def at_terminal(self) -> str:
        return self.command or self.name.replace("_", "-")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add what the verb asks at a terminal."""
        for option in self.options:
            option.add_to(parser)

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a form would ask, beside the reason, from the options of a terminal.

        Raises ``CommandError`` if one is missing.
        """
        for option in self.options:
            if option.missing and options[option.name] is None:
                raise CommandError(option.missing)
        return {option.name: options[option.name] for option in self.options}

    def params(self, target: Target, actor: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a request for approval keeps of the form's data, beside the reason."""
        return {name: data[name] for name in self.kept}

    def permissions_for(self, target: Target) -> tuple[str, ...]:
        """Return all the permissions that this verb needs."""
        return (self.permission,)

    def rehearse(self, target: Target, stage: LockedProcess) -> Any:
        """Try it on copies of the rows; raise ``StateError`` if it is not possible now."""
        raise NotImplementedError

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        """Return the names of what it moves, which may take a second person."""
        return ()

    def sections(self, target: Target, stage: LockedProcess, result: Any) -> Iterable[Section]:
        """Return the parts of its preview; ``result`` is that of ``rehearse``."""
        return ()

    def facts(self, result: Any) -> dict[str, Any]:
        """Return its preview's facts for programs."""
        return {}

    def says(self, target: Target) -> str:
        """Return what will happen in a sentence."""
        return str(self.sentence) % target.words

    def preview(self, target: Target) -> Preview:
        """Return what will happen; raise ``StateError`` if the verb is not possible now."""
        stage = target.rehearsal.stage()
        result = self.rehearse(target, stage)
        # Before the rows are tried again.
        sections = [part for part in self.sections(target, stage, result) if part.items]
        why = _takes_two(stage, self.moves(target, stage, result))
        if why:
            sections.insert(0, Section(_("Takes a second person"), (why,)))
        button = _("Ask a second person") if why else ""
        return Preview(self.says(target), tuple(sections), button, self.facts(result))

    def check(self, target: Target) -> None:
        """Raise ``StateError`` where ``preview`` would, more cheaply: a page checks each step."""
        self.rehearse(target, target.rehearsal.stage())

    def refusal(self, target: Target) -> str:
        """Return why the verb is not possible now; empty if it is."""
        try:
            self.check(target)
        except StateError as error:
            return str(error)
        return ""

    def operate(self, process_id: int, *step: Any, **data: Any) -> Any:
        """Call the engine's verb with the form's data."""
        raise NotImplementedError

    def apply(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        """Carry the verb out with the form's data.

        Raises ``StateError``, and changes nothing, if the store refuses, or if it takes two
        persons.
        """
        step = (target.step_name,) if target.step is not None else ()
        result = self.operate(target.process.pk, *step, actor=actor, **data)
        return self.outcome(target, result, data)

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        """Return what was done; ``result`` is that of the engine's verb."""
        facts = {self.fact: target.step_name if target.step is not None else True}
        return outcome_about(target, str(self.done_text) % target.words, **facts)

    def title(self, target: Target) -> str:
        if target.step is None:
            return f"{self.label}: {target.process.subject}"
        return f"{self.label}: {target.step_name}, {target.process.subject}"

    def place(self, request: HttpRequest, target: Target) -> Place:
        """Return the page to go back to."""
        return places.of(request, target.process)

    def find(self, request: HttpRequest, **address: Any) -> Target:
        try:
            target = read(address["pk"], lambda process: showing.is_shown(request, process))
        except Process.DoesNotExist:
            raise Http404 from None
        at_step = target.at(address["step"]) if "step" in address else target
        if at_step is None:
            raise Http404
        return at_step

    def may(self, request: HttpRequest, row: Target | None = None) -> bool:
        # Which permissions it takes may depend on the step.
        return row is None or request.user.has_perms(self.permissions_for(row))

    def why_not(self, row: Target) -> str:
        return self.refusal(row)

    def form_of(
        self, row: Target, data: Mapping[str, Any] | None = None, initial: Any = None
    ) -> VerbForm:
        form = self.form(row, data)
        form.initial["reason"] = (initial or {}).get("reason", "")
        return form

    def is_ready(self, form: VerbForm) -> bool:
        return form.is_valid() and form.is_confirmed

    def refusal_of(self, row: Target, form: VerbForm) -> str:
        return form.outdated() or self.refusal(row)

    def perform(self, request: HttpRequest, row: Target, data: dict[str, Any]) -> str:
        """Act, or ask for approval if that takes two persons."""
        try:
            return self.apply(row, actor(request), dict(data)).message
        except StateError as refusal:
            if refusal.code not in NEEDS_ANOTHER:
                raise
        step = row.step.name if row.step else ""
        number = operations.ask_for_approval(
            row.process.pk,
            Act(self.name, step, self.params(row, actor(request), data)),
            actor=actor(request),
            reason=data["reason"],
            sequence=data["sequence"],
        )
        text = _("request %(n)d waits for a second person; nothing has changed.")
        return message_about(row, text % {"n": number})

    def logged(self, row: Target) -> Process:
        return row.process

    def url(self, request: HttpRequest, row: Target) -> str:
        return self.place(request, row).url

    def context(self, request: HttpRequest, row: Target) -> dict[str, Any]:
        return {
            "target": row,
            "preview": None if self.refusal(row) else self.preview(row),
            "place": self.place(request, row),
            "server_now": row.now.isoformat(),
        }


def _takes_two(stage: LockedProcess, moves: Collection[str]) -> str:
    """Return why a second person has to approve; empty if none has to."""
    amounts = two_persons.worth([stage.process.id], PEOPLE) if moves else {}
    try:
        two_persons.refuse_alone(stage, moves, PEOPLE, amounts)
    except StateError as refusal:
        worth = _("It is worth %(amount)s, more than %(limit)s.")
        unknown = _("Its worth is unknown.")
        reason = worth % refusal.params if "amount" in refusal.params else unknown
        asks = _("This requests it: nothing changes until another person has approved it.")
        return f"{reason} {asks}"
    return ""


def read(process_id: int, is_shown: Callable[[Process], bool]) -> Target:
    """Read a process for verbs; raise ``Process.DoesNotExist``.

    ``is_shown`` says whether its personal data may be seen.  The input is not masked, because it
    may be edited: mask it before showing it.
    """
    process = snapshot.with_steps(Process.objects.all()).get(pk=process_id)
    mask = UNMASKED if is_shown(process) else masking.of_process(process)
    masking.conceal_steps(process, mask)
    return Target.of(process, dialect.read_clock(), mask)


def message_about(target: Target, text: str) -> str:
    """Return a message about a target: its subject, then ``text``."""
    return _("%(subject)s: %(text)s") % {"subject": target.process.subject, "text": text}


def outcome_about(target: Target, text: str, **facts: Any) -> Outcome:
    """Return the outcome of a verb on a target, as ``message_about`` says it."""
    return Outcome(message_about(target, text), facts)
