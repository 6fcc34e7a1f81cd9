"""Correct a dead letter: edit its fields or raw JSON, confirm the changes, and replay it."""

import json
from typing import Any

from django import forms
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from orders import dead_letters, letter_corrections
from orders.admin import resolving
from orders.consumer.message import TOKEN
from orders.dead_letters import NotNow
from orders.letter_corrections import MISSING, TEXTS, Change, Correction, at, in_words, value_of
from orders.models import DeadLetter
from orders.reasons import Refused
from orders.workflows.payloads import PERSONAL
from workers.desk.admin import masking, showing
from workers.desk.admin.actions.page import actor
from workers.desk.admin.lists import own_page
from workers.desk.admin.masking import STARS, UNMASKED, Mask
from workers.http import strict_json


class CorrectionForm(forms.Form):
    """A field for each value of an order, and the whole message as JSON.

    Fields that the viewer may not see are empty, and keep their values if left so.  The JSON is
    there only if nothing is masked.
    """

    def __init__(self, letter: DeadLetter, mask: Mask, data: Any = None) -> None:
        super().__init__(data)
        self.mask = mask
        self.before = value_of(bytes(letter.body))
        self.kept_id = str(letter.properties.get("message_id") or "")
        self.fields["message_id"] = forms.CharField(
            label=lazy("Message id"), required=False, max_length=200, strip=False
        )
        self.initial["message_id"] = self.kept_id
        self.names: dict[str, str] = {}
        if isinstance(self.before, dict):
            self._add_fields(self.before)
        if mask is UNMASKED:
            self.fields["raw"] = forms.CharField(
                label=lazy("The message as JSON"),
                required=False,
                strip=False,
                max_length=strict_json.MAX_BYTES,
                widget=forms.Textarea(attrs={"rows": 12}),
                help_text=lazy("Counts instead of the fields once it is changed."),
            )
            self.initial["raw"] = self._raw(bytes(letter.body))
        self.fields["reason"] = forms.CharField(
            label=lazy("Reason"),
            max_length=500,
            help_text=lazy("Kept with the dead letter and your name."),
            widget=forms.Textarea(attrs={"rows": 3}),
        )
        if not letter.is_proven:
            self.fields["unproven"] = forms.BooleanField(
                label=lazy("I have asked the client that is named, and vouch for it"),
                required=False,
                help_text=lazy("Anyone with a broker login can write any name."),
            )
        self.is_confirmed = bool(data and "confirm" in data)
        self.is_edited_again = bool(data and "edit" in data)

    def _add_fields(self, before: dict[str, Any]) -> None:
        for i, path in enumerate(TEXTS):
            name = f"value_{i}"
            self.names[name] = path
            text = in_words(at(before, path))
            is_long = "\n" in text or path == "customer.address"
            widget = forms.Textarea(attrs={"rows": 3}) if is_long else forms.TextInput()
            self.fields[name] = forms.CharField(
                label=path, required=False, strip=False, widget=widget
            )
            if self._is_masked(path):
                self.fields[name].help_text = _("Now %(masked)s. Left empty, it stays so.") % {
                    "masked": self.mask.value_at(path, at(before, path))
                }
            else:
                self.initial[name] = text
        self.fields["lines"] = forms.CharField(
            label="lines",
            required=False,
            widget=forms.Textarea(attrs={"rows": 4}),
            help_text=lazy("A line for each product: its sku and the quantity."),
        )
        self.initial["lines"] = letter_corrections.lines_as_text(at(before, "lines"))
        if unknown := letter_corrections.unknown(before):
            self.fields["without"] = forms.BooleanField(
                label=_("Remove unknown fields: %(names)s")
                % {"names": ", ".join(unknown[:10])[:500]},
                required=False,
            )

    def _raw(self, body: bytes) -> str:
        if self.before is not MISSING:
            return json.dumps(self.before, indent=2, ensure_ascii=False)
        return body[: strict_json.MAX_BYTES].decode("utf-8", "replace").replace("\x00", "")

    def _is_masked(self, path: str) -> bool:
        value = at(self.before, path)
        return value is not MISSING and self.mask.value_at(path, value) != value

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors:
            return data
        self.after = self._after(data)
        if TOKEN.search(json.dumps(self.after)):
            raise forms.ValidationError(
                lazy("The message must hold no token, got one. Take it out.")
            )
        self.correction = Correction(
            json.dumps(self.after, ensure_ascii=False).encode("utf-8", "surrogatepass"),
            data["message_id"],
        )
        self.changes = letter_corrections.diff_of_message(
            self.before, self.after, self.kept_id, data["message_id"]
        )
        if not self.changes:
            raise forms.ValidationError(lazy("No changes. Change a value, or replay it."))
        return data

    def _after(self, data: dict[str, Any]) -> Any:
        raw = _lines(data.get("raw", ""))
        if "raw" in self.fields and raw.strip() and raw != _lines(str(self.initial["raw"])):
            try:
                return strict_json.read(raw.encode("utf-8", "surrogatepass"))
            except strict_json.BadJson as error:
                text = _("The message cannot be read: %(why)s.") % {"why": error}
                raise forms.ValidationError(text) from None
        if not isinstance(self.before, dict):
            raise forms.ValidationError(
                lazy("The message is no JSON object. Show personal data to see it, then write one.")
                if "raw" not in self.fields
                else lazy("The message is no JSON object. Write one.")
            )
        values = {
            path: MISSING if not data[name] else _lines(data[name])
            for name, path in self.names.items()
            if self._is_typed(name, path, data[name])
        }
        if _lines(data["lines"]).strip() != str(self.initial["lines"]).strip():
            try:
                values["lines"] = letter_corrections.lines_of_text(data["lines"])
            except ValueError as error:
                text = _("A line must be a sku and a quantity, got %(line)s.") % {"line": error}
                raise forms.ValidationError({"lines": text}) from None
        if data.get("without"):
            values |= dict.fromkeys(letter_corrections.unknown(self.before), MISSING)
        return letter_corrections.put(self.before, values)

    def _is_typed(self, name: str, path: str, text: str) -> bool:
        if self._is_masked(path):
            return bool(text)
        return _lines(text) != in_words(at(self.before, path))

    def shown_changes(self) -> list[dict[str, str]]:
        """Return the changes as text: old values stay masked, typed values are shown."""
        return [
            {
                "path": change.path or str(_("the message")),
                "before": before_in_words(change, self.mask),
                "after": "" if change.after is MISSING else in_words(change.after),
            }
            for change in self.changes
        ]

    def hide(self) -> None:
        """Hide all fields, so that the confirmation page posts the same values."""
        for field in self.fields.values():
            field.widget = field.hidden_widget()


def before_in_words(change: Change, mask: Mask) -> str:
    """Return the old value, masked; a message that is not JSON is stars if masked, else empty."""
    if change.before is MISSING:
        return "" if change.path else (STARS if mask is not UNMASKED else "")
    return in_words(mask.value_at(change.path, change.before))


def _lines(text: str) -> str:
    # Browsers send CRLF.
    return text.replace("\r\n", "\n")


@require_http_methods(["GET", "HEAD", "POST"])
def correct(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a correction, show its changes, and replay the message on confirmation."""
    if not request.user.has_perm(resolving.CORRECT):
        raise PermissionDenied
    letter = get_object_or_404(DeadLetter, pk=pk)
    mask = UNMASKED if showing.is_shown(request, letter) else mask_of(letter)
    if request.method != "POST":
        return _page(request, letter, CorrectionForm(letter, mask))
    form = CorrectionForm(letter, mask, request.POST)
    if not form.is_valid() or form.is_edited_again:
        return _page(request, letter, form, status=400 if form.errors else 200)
    unproven = form.cleaned_data.get("unproven", False)
    refusals = [
        f"{reason.field} {reason.problem}"
        for reason in dead_letters.problems(letter, form.correction, unproven=unproven)
    ]
    if refusals or not form.is_confirmed:
        return _page(request, letter, form, refusals, status=409 if refusals else 200)
    try:
        dead_letters.replay(
            pk,
            actor=actor(request),
            reason=form.cleaned_data["reason"],
            unproven=unproven,
            correction=form.correction,
        )
    except (NotNow, Refused) as refused:
        return _page(request, letter, form, [str(refused)], status=409)
    assert request.user.pk is not None
    LogEntry.objects.log_actions(
        user_id=request.user.pk,
        queryset=DeadLetter.objects.defer("body").filter(pk=pk),
        action_flag=CHANGE,
        change_message=f"{_('Correct and replay')} {form.cleaned_data['reason']}",
        single_object=True,
    )
    return redirect("admin:orders_deadletter_change", pk)


def mask_of(letter: DeadLetter) -> Mask:
    """Return the mask of a message, which also hides its personal values elsewhere."""
    value = value_of(bytes(letter.body))
    return Mask(PERSONAL) if value is MISSING else Mask(PERSONAL, [value])


def masks_of(ids: set[int]) -> dict[int, Mask]:
    """Return the masks of messages by their ids, one at a time: a body may be a megabyte."""
    letters = DeadLetter.objects.filter(pk__in=ids).only("body")
    return {letter.pk: mask_of(letter) for letter in letters.iterator(chunk_size=1)}


masking.register_masks("letter", masks_of)


def _page(
    request: HttpRequest,
    letter: DeadLetter,
    form: CorrectionForm,
    refusals: list[str] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    is_ready = form.is_bound and not form.errors and not refusals and not form.is_edited_again
    changes = form.shown_changes() if is_ready else []
    if is_ready:
        form.hide()
    # In memory only: reasons may quote the message.
    letter.reasons = form.mask.value(letter.reasons)
    context = {
        "title": _("Correct and replay: %(letter)s") % {"letter": letter},
        "letter": letter,
        "form": form,
        "diff": changes,
        "refusals": refusals or [],
        "is_masked": form.mask is not UNMASKED,
    }
    return own_page(request, "admin/orders/dead_letter/correct.html", DeadLetter, context, status)
