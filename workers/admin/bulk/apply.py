"""Carrying a verb out on many processes, each by itself, and telling what came of it."""

from dataclasses import dataclass, field

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from workers.admin.actions.action import ReasonForm, Target, Verb
from workers.admin.actions.page import actor
from workers.admin.bulk import selection
from workers.exceptions import StateError
from workers.models import Process
from workers.wire import dispatch

#: Refusals that are told one by one.
TOLD = 10


class SeenForm(ReasonForm):
    """The processes that were shown, each with its sequence then, and the reason."""

    seen = forms.CharField(widget=forms.HiddenInput, max_length=selection.LIMIT * 40)

    def clean_seen(self) -> dict[int, int]:
        pairs = [pair.partition(":")[::2] for pair in self.cleaned_data["seen"].split(",")]
        if len(pairs) > selection.LIMIT or not all(
            part.isdecimal() and part.isascii() and len(part) < 19
            for pair in pairs
            for part in pair
        ):
            raise forms.ValidationError(lazy("This is no list of processes."))
        return {int(process_id): int(sequence) for process_id, sequence in pairs}


@dataclass(slots=True)
class Landing:
    """What changed, and why the others did not."""

    landed: list[Process] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def carry_out(
    verb: Verb, seen: dict[int, int], found: dict[int, Target], request: HttpRequest, reason: str
) -> Landing:
    """Carry a verb out on the processes that were ``seen``, each only if it has not moved since."""
    landing = Landing()
    for process_id, sequence in sorted(seen.items()):
        target = found.get(process_id)
        if target is None:
            landing.refusals.append(_("There is no process %(id)d here.") % {"id": process_id})
            continue
        try:
            verb.perform(target, actor(request), {"reason": reason, "sequence": sequence})
        except StateError as refusal:
            landing.refusals.append(str(refusal))
        else:
            landing.landed.append(target.process)
    if landing.landed:
        _follow_up(verb, landing.landed, request, reason)
    return landing


def _follow_up(verb: Verb, landed: list[Process], request: HttpRequest, reason: str) -> None:
    if verb.is_nudging:
        dispatch.nudge_later()
    assert request.user.pk is not None
    LogEntry.objects.log_actions(
        user_id=request.user.pk,
        queryset=landed,
        action_flag=CHANGE,
        change_message=f"{verb.label}: {reason}",
    )


def report(verb: Verb, landing: Landing, request: HttpRequest) -> None:
    """Tell how many landed and how many did not."""
    landed, refusals = len(landing.landed), landing.refusals
    if landed:
        text = ngettext("%(verb)s: %(n)d changed.", "%(verb)s: %(n)d changed.", landed)
        messages.success(request, text % {"verb": verb.label, "n": landed})
    if refusals:
        text = ngettext("%(n)d was not: %(why)s", "%(n)d were not: %(why)s", len(refusals))
        why = " ".join(refusals[:TOLD]) + (" …" if len(refusals) > TOLD else "")
        messages.warning(request, text % {"n": len(refusals), "why": why})
