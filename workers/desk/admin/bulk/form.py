"""The form of the page that confirms a job, with the frozen set in a hidden field."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.conf import sas
from workers.desk.admin.actions.action import ReasonForm

#: The size of a suggested sample.
SAMPLE = 5
#: Digits of a process's id and its sequence, at most.
LONGEST_NUMBER = 18


class JobForm(ReasonForm):
    """The processes that were shown, each with its sequence then, the reason, and the pace."""

    seen = forms.CharField(widget=forms.HiddenInput)
    rate = forms.FloatField(
        label=lazy("At most so many a second"),
        required=False,
        min_value=0.01,
        max_value=10_000,
        help_text=lazy("Empty: as fast as possible. You can pause and stop it all the same."),
    )

    sample = forms.IntegerField(
        label=lazy("A sample first"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=lazy(
            "That many are changed first; then the job waits for you. Empty: all of them."
        ),
    )

    field_order = ("seen", "reason", "sample", "rate")

    def clean_seen(self) -> dict[int, int]:
        pairs = [pair.partition(":")[::2] for pair in self.cleaned_data["seen"].split(",")]
        if not all(_is_number(part) for pair in pairs for part in pair):
            raise forms.ValidationError(lazy("This is no list of processes."))
        limit = int(sas.job_limit)
        if len(pairs) > limit:
            raise forms.ValidationError(
                _("A job has %(limit)d processes at most. Select fewer.") % {"limit": limit}
            )
        return {int(process_id): int(sequence) for process_id, sequence in pairs}


def _is_number(text: Any) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= LONGEST_NUMBER
