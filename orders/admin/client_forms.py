"""The forms of actions on API clients."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from orders import tokens
from orders.models import ApiClient

NAME_TAKEN = _("There is a client of this name already.")
LIMIT: dict[str, Any] = {"min_value": 1, "max_value": 1_000_000}


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        help_text=_("Kept in the log with your name. No secrets, please."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class ActForm(ReasonForm):
    #: The client's version on the page; the action is refused if the client has changed since.
    seen = forms.CharField(widget=forms.HiddenInput, max_length=64)


class IssueForm(ActForm):
    """A new token's scopes and lifetime."""

    scopes = forms.MultipleChoiceField(
        label=_("It may"),
        choices=[
            (tokens.SUBMIT, _("submit: place orders")),
            (tokens.READ, _("read: follow its own orders")),
            (tokens.OPERATE, _("operate: cancel its own orders")),
        ],
        initial=(tokens.SUBMIT, tokens.READ),
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.IntegerField(
        label=_("Good for, in days"),
        required=False,
        min_value=1,
        max_value=tokens.MOST_DAYS,
        help_text=_("Empty: until it is revoked."),
    )

    field_order = ("scopes", "days", "reason")

    def clean(self) -> dict[str, Any]:
        self.cleaned_data["expires_at"] = _end(self.cleaned_data.get("days"))
        return self.cleaned_data


class OverlapForm(ActForm):
    """How long the old token or secret stays valid beside the new one."""

    overlap_hours = forms.IntegerField(
        label=_("Overlap, in hours"),
        initial=24,
        min_value=0,
        max_value=tokens.MOST_OVERLAP_HOURS,
        help_text=_("What is in use now stays valid for this long. 0: it ends at once."),
    )

    field_order: tuple[str, ...] = ("overlap_hours", "reason")

    def clean_overlap_hours(self) -> timedelta:
        return timedelta(hours=self.cleaned_data["overlap_hours"])


class RotateForm(OverlapForm):
    """The overlap, and the new token's lifetime."""

    days = IssueForm.base_fields["days"]

    field_order = ("overlap_hours", "days", "reason")

    def clean(self) -> dict[str, Any]:
        self.cleaned_data["expires_at"] = _end(self.cleaned_data.get("days"))
        return self.cleaned_data


class LimitForm(ActForm):
    requests_per_minute = forms.IntegerField(
        label=_("Requests a minute"),
        **LIMIT,
        help_text=_("Of all its tokens together. To stop a client, deactivate it."),
    )

    field_order = ("requests_per_minute", "reason")


class RegisterForm(forms.ModelForm):
    requests_per_minute = forms.IntegerField(label=_("Requests a minute"), initial=600, **LIMIT)
    reason = ReasonForm.base_fields["reason"]

    class Meta:
        model = ApiClient
        fields = ("name", "requests_per_minute")
        error_messages = {"name": {"unique": NAME_TAKEN}}
        help_texts = {
            "name": _(
                "Letters, digits, - and _. It cannot be changed: orders and reply queues carry it."
            )
        }


def _end(days: int | None) -> datetime | None:
    return timezone.now() + timedelta(days=days) if days else None
