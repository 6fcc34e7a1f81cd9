"""Editing the input of a process: a field for each editable path, then the diff."""

import argparse
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.desk.admin.actions.action import (
    Outcome,
    Target,
    Verb,
    VerbForm,
    outcome_about,
)
from workers.exceptions import StateError
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES
from workers.store.operate import edit_input

MISSING = object()
#: Longer texts get a field of several lines.
SHORT = 60


@dataclass(frozen=True, slots=True)
class Change:
    """One value, before and after."""

    path: str
    before: str
    after: str


class InputForm(VerbForm):
    """One field per path, of the present value's type; the diff is confirmed before saving."""

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(target, data)
        self.paths = {f"value_{i}": path for i, path in enumerate(paths_of(target)) if path}
        for name, path in self.paths.items():
            value = at(target.process.input, path)
            self.fields[name] = _field(path, value)
            if self._is_masked(path):
                self._mask(self.fields[name], target.mask.value_at(path, value))
            else:
                self.initial[name] = value
        self.order_fields([*self.paths, "reason"])
        self.is_confirmed = bool(data and "confirm" in data)
        self.is_edited_again = bool(data and "edit" in data)
        self.changed: dict[str, list[Any]] = {}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors:
            return data
        values = {path: self._typed_value(name, path) for name, path in self.paths.items()}
        before, editable = self.target.process.input, self.target.process.editable
        try:
            _after, self.changed = edit_input.changed_input(before, editable, values)
        except StateError as error:
            raise forms.ValidationError(str(error)) from error
        if not self.changed:
            raise forms.ValidationError(lazy("No changes."))
        changes = {path: after for path, (_before, after) in self.changed.items()}
        return {"reason": data["reason"], "sequence": data["sequence"], "changes": changes}

    def _is_masked(self, path: str) -> bool:
        value = at(self.target.process.input, path)
        return bool(self.target.mask.value_at(path, value) != value)

    def _mask(self, field: forms.Field, value: Any) -> None:
        """Show a masked placeholder in place of the value; left empty, the value stays as it is."""
        field.required = False
        field.widget.attrs["placeholder"] = _text(value)
        field.help_text = _("Now %(masked)s. Left empty, it stays what it is.") % {
            "masked": _text(value)
        }

    def _typed_value(self, name: str, path: str) -> Any:
        value, current = self.cleaned_data[name], at(self.target.process.input, path)
        if self._is_masked(path) and value in (None, ""):
            return current
        if isinstance(current, str) and "\r" not in current:
            # Browsers end lines their own way.
            return value.replace("\r\n", "\n")
        return value

    @property
    def is_ready(self) -> bool:
        """Return whether to show the diff: all is valid, and nothing is decided yet."""
        is_decided = self.is_confirmed or self.is_edited_again
        return self.is_bound and self.is_valid() and not is_decided

    def hide(self) -> None:
        """Hide all fields, for the page that asks for confirmation."""
        for field in self.fields.values():
            field.widget = field.hidden_widget()

    def diff(self) -> list[Change]:
        """Return the changes; old values stay masked, new ones are not."""
        mask = self.target.mask
        return [
            Change(path, _text(mask.value_at(path, old)), _text(new))
            for path, (old, new) in self.changed.items()
        ]


class EditInput(Verb):
    name = "input"
    label = lazy("Edit the input")
    button = lazy("Preview")
    permission = "workers.edit_input"
    form = InputForm
    template = "admin/workers/edit_input.html"
    command = "edit"
    events: ClassVar = {"input_edited": lazy("Its input was changed")}

    kept = ("changes",)
    sentence = lazy(
        "Agents get the new values from the next call on; calls already sent keep the old ones."
    )
    operate = staticmethod(operations.edit_input)

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        if target.process.state in FINAL_PROCESS_STATES:
            text = _("%(subject)s is %(state)s: no agent will read its input again.")
            raise StateError(text % target.words)
        if not target.process.editable:
            text = _("The workflow of %(subject)s does not allow changes to its input.")
            raise StateError(text % target.words)

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        return paths_of(target)

    def beside(self, target: Target, form: forms.Form) -> dict[str, Any]:
        if not isinstance(form, InputForm) or not form.is_ready:
            return {}
        form.hide()
        return {"diff": form.diff()}

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--set",
            dest="changes",
            action="append",
            type=_change_of,
            default=[],
            metavar="PATH=VALUE",
            help="edit: a value of the input; VALUE is JSON, or else text",
        )

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        return {"changes": dict(options["changes"])}

    def outcome(self, target: Target, result: Any, data: Mapping[str, Any]) -> Outcome:
        text = _("changed: %(paths)s.") % {"paths": ", ".join(result)}
        return outcome_about(target, text, changed=result)


def _change_of(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} says no value. Write PATH=VALUE.")
    try:
        return path, json.loads(value)
    except ValueError:
        return path, value


def paths_of(target: Target) -> list[str]:
    """Return the editable paths that the input has."""
    document = target.process.input
    return [path for path in target.process.editable if at(document, path) is not MISSING]


def at(document: Any, path: str) -> Any:
    """Return the value at a dotted path; ``MISSING`` if there is none."""
    for name in path.split("."):
        document = document.get(name, MISSING) if isinstance(document, dict) else MISSING
    return document


def _field(path: str, value: Any) -> forms.Field:
    match value:
        case bool():
            return forms.BooleanField(label=path, required=False)
        case int():
            return forms.IntegerField(label=path)
        case float():
            return forms.FloatField(label=path)
        case str():
            is_long = len(value) > SHORT or "\n" in value
            widget = forms.Textarea(attrs={"rows": 4}) if is_long else forms.TextInput()
            return forms.CharField(label=path, required=False, strip=False, widget=widget)
    return forms.JSONField(label=path, required=False, widget=forms.Textarea(attrs={"rows": 4}))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else forms.JSONField().prepare_value(value)
