"""The hand-over sheet: what the next person on duty must know, as a page, as text, as mail."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from workers.desk.admin import badges, masking, piles
from workers.desk.admin.actions.page import actor
from workers.desk.admin.bulk.kinds import label_of
from workers.desk.admin.filters import is_paused
from workers.desk.admin.lists import own_page
from workers.desk.admin.paging import COUNTED, counted
from workers.desk.admin.piles import Pile, WaitingPile
from workers.desk.models import BulkJob, Incident, Note
from workers.desk.models.route import RouteKind
from workers.desk.notify import incident_sender as senders
from workers.desk.notify.incident_sender import EncodedMessage
from workers.desk.operate import incident_list
from workers.desk.operate.incident_list import IncidentLine
from workers.desk.states import JobState
from workers.desk.texts import alert_texts
from workers.desk.texts.wait_reasons import by_whom, next_probe
from workers.models import Hold, Process
from workers.notify.senders.delivery import Undelivered
from workers.ops import wait_facts
from workers.runtime import timestamps
from workers.store import journal

#: Rows of each kind on one sheet; the rest is counted.
MOST = 100
#: The default length of a shift, and the longest look back.
SHIFT_HOURS, LONGEST_HOURS = 8, 168
#: Jobs that are not over.
_GOING_ON = (JobState.RUNNING, JobState.PAUSED)


@dataclass(frozen=True, slots=True)
class WrittenNote:
    """A note, and its subject."""

    at: datetime
    author: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class PausedProcess:
    """A process that somebody paused, and why."""

    process: Process
    why: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is open, stopped and under way at one instant, and what was noted since."""

    now: datetime
    since: datetime
    incidents: list[IncidentLine]
    #: Piles that wait for a person; empty ones are left out.
    piles: list[tuple[WaitingPile, Pile]]
    notes: list[WrittenNote]
    holds: list[Hold]
    paused: list[PausedProcess]
    paused_count: str
    jobs: list[BulkJob]
    #: Agents whose services are not called: (agent, since when, what happens next).
    breakers: list[tuple[str, datetime | None, str]]


def read(hours: int = SHIFT_HOURS, now: datetime | None = None) -> Sheet:
    """Read the sheet; personal data in it is masked, because it is made to be sent."""
    paused = list(Process.objects.filter(is_paused()).order_by("paused_at")[: COUNTED + 1])
    shown = paused[:MOST]
    situation = wait_facts.read(shown, now)
    pauses = situation.facts.pauses
    since = situation.now - timedelta(hours=hours)
    rows = incident_list.read(MOST, situation).lines
    going_on = BulkJob.objects.filter(state__in=[str(state) for state in _GOING_ON])
    return Sheet(
        now=situation.now,
        since=since,
        incidents=rows,
        piles=_piles(),
        notes=_notes(since),
        holds=masking.conceal_words(
            Hold.objects.filter(ended_at=None).order_by("began_at")[:MOST], "reason"
        ),
        paused=[
            PausedProcess(process, by_whom(pauses[process.pk]) if process.pk in pauses else "")
            for process in shown
        ],
        paused_count=counted(len(paused)),
        jobs=masking.conceal_words(going_on.order_by("pk")[:MOST], "reason"),
        breakers=_breakers(situation),
    )


def _piles() -> list[tuple[WaitingPile, Pile]]:
    waiting = piles.waiting()
    counts = piles.count({pile.name: pile.kind() for pile in waiting})
    return [(pile, counts[pile.name]) for pile in waiting if counts[pile.name].count]


def _notes(since: datetime) -> list[WrittenNote]:
    rows = Note.objects.filter(at__gte=since).select_related("incident", "process", "author")
    notes = list(rows.defer("process__input").order_by("-at")[:MOST])
    masks = masking.of_processes(note.process_id for note in notes)
    return [
        WrittenNote(
            note.at,
            str(note.author or "?"),
            _about(note),
            masks[note.process_id].text(note.text),
        )
        for note in notes
    ]


def _about(note: Note) -> str:
    if note.incident is not None:
        return alert_texts.title(note.incident.code, note.incident.params)
    return note.process.subject if note.process else ""


def _breakers(situation: wait_facts.Situation) -> list[tuple[str, datetime | None, str]]:
    flows = situation.facts.flows or {}
    return [
        (agent, flow.breaker.opened_at, comes)
        for agent, flow in sorted(flows.items())
        if (comes := next_probe(flow, situation.now))
    ]


def text(sheet: Sheet) -> str:
    """Return the sheet as plain text: for a mail, and for a terminal."""
    return "\n".join(_lines(sheet)) + "\n"


def _lines(sheet: Sheet) -> Iterator[str]:
    yield _("Hand-over, %(at)s") % {"at": timestamps.full(sheet.now)}
    yield from _section(_("Open incidents"), [_incident(line) for line in sheet.incidents])
    yield from _section(_("Waiting for somebody"), [_pile(*item) for item in sheet.piles])
    title = _("Notes since %(at)s") % {"at": timestamps.full(sheet.since)}
    yield from _section(title, [_note(note) for note in sheet.notes])
    yield from _section(_("Held"), [_hold(hold) for hold in sheet.holds])
    paused = _("Paused: %(count)s") % {"count": sheet.paused_count}
    yield from _section(paused, [_pause(item) for item in sheet.paused])
    yield from _section(_("Jobs under way"), [_job(job) for job in sheet.jobs])
    yield from _section(
        _("Services that are not called"), [_breaker(*item) for item in sheet.breakers]
    )


def _section(title: str, items: list[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"- {item}" for item in items)
    if not items:
        yield _("- nothing")


def _incident(line: IncidentLine) -> str:
    row = line.incident
    members = ngettext("%(n)d member", "%(n)d members", row.members) % {"n": row.members}
    parts: list[Any] = [line.title, row.get_state_display(), members]
    if row.money:
        worth = number_format(row.money, 2, force_grouping=True)
        parts.append(_("worth %(money)s") % {"money": worth})
    parts.append(_("owner %(owner)s") % {"owner": row.assignee or _("nobody")})
    parts.append(_("since %(at)s") % {"at": timestamps.full(row.opened_at)})
    parts += [_("next: %(next)s") % {"next": line.next_act}] if line.next_act else []
    return "; ".join(map(str, parts))


def _pile(waiting: WaitingPile, pile: Pile) -> str:
    words = {"what": waiting.title, "n": pile.count}
    if pile.oldest is None:
        return _("%(what)s: %(n)d") % words
    at = timestamps.full(pile.oldest)
    return _("%(what)s: %(n)d, the oldest since %(at)s") % {**words, "at": at}


def _note(note: WrittenNote) -> str:
    words = " ".join(note.text.split())
    return f"{timestamps.full(note.at)} {note.author}, {note.about}: {words}"


def _hold(hold: Hold) -> str:
    what = badges.hold(hold.kind, hold.name)
    since = timestamps.full(hold.began_at)
    return f"{what}, {since}, {hold.began_by}: {hold.reason}"


def _pause(pause: PausedProcess) -> str:
    since = timestamps.full(pause.process.paused_at) if pause.process.paused_at else ""
    return f"{pause.process.subject}, {since} {pause.why}".rstrip()


def _job(job: BulkJob) -> str:
    return _("job %(n)d: %(verb)s, %(state)s, %(done)d of %(total)d, %(actor)s: %(reason)s") % {
        "n": job.pk,
        "verb": label_of(job.verb),
        "state": job.get_state_display(),
        "done": job.done,
        "total": job.total,
        "actor": job.actor,
        "reason": job.reason,
    }


def _breaker(agent: str, since: datetime | None, comes: str) -> str:
    return f"{agent}, {timestamps.full(since)}: {comes}" if since else f"{agent}: {comes}"


PERMISSION = "desk.hand_over_incident"


class HoursForm(forms.Form):
    hours = forms.IntegerField(
        label=lazy("Notes of the last hours"), min_value=1, max_value=LONGEST_HOURS
    )


class MailForm(forms.Form):
    """The recipients, and a comment."""

    to: Any = forms.ModelMultipleChoiceField(
        label=lazy("To"),
        queryset=None,
        widget=forms.CheckboxSelectMultiple,
        help_text=lazy("Users of the admin who have an address. Personal data is masked."),
    )
    comment = forms.CharField(
        label=lazy("Beside it"),
        required=False,
        max_length=2000,
        help_text=lazy("Stands above the sheet."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        users = get_user_model()._default_manager.filter(is_active=True, is_staff=True)
        to: Any = self.fields["to"]
        to.queryset = users.exclude(email="").order_by(get_user_model().USERNAME_FIELD)


@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Show the sheet; on POST mail it, masked as it is shown."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    hours_form = HoursForm(request.GET or {"hours": SHIFT_HOURS})
    hours = hours_form.cleaned_data["hours"] if hours_form.is_valid() else SHIFT_HOURS
    sheet = read(hours)
    if request.method != "POST":
        return _page(request, sheet, hours_form, MailForm())
    form = MailForm(request.POST)
    if not form.is_valid():
        return _page(request, sheet, hours_form, form, status=400)
    try:
        _mail(form.cleaned_data, sheet)
    except Undelivered as problem:
        refusal = _("The mail did not leave: %(why)s.") % {"why": problem}
        return _page(request, sheet, hours_form, form, status=502, refusal=refusal)
    names = [user.get_username() for user in form.cleaned_data["to"]]
    detail = {"to": names, "reason": form.cleaned_data["comment"]}
    journal.record_act("handed_over", detail, actor=actor(request))
    messages.success(request, _("Mailed to %(names)s.") % {"names": ", ".join(names)})
    return redirect("admin:desk_incident_hand_over")


def _list_url(request: HttpRequest, pile: WaitingPile) -> str:
    """Return the URL of the list of a pile; empty if the user may not see it."""
    if not request.user.has_perm(pile.permission):
        return ""
    return f"{reverse(pile.page)}?{pile.query}".rstrip("?")


def _mail(data: dict[str, Any], sheet: Sheet) -> None:
    sheet_text = text(sheet)
    subject = sheet_text.partition("\n")[0]
    body = f"{data['comment']}\n\n{sheet_text}" if data["comment"] else sheet_text
    address = ",".join(user.email for user in data["to"])
    senders.send(EncodedMessage(RouteKind.MAIL, address, "", f"msg_{uuid4().hex}", subject, body))


def _page(
    request: HttpRequest,
    sheet: Sheet,
    hours_form: HoursForm,
    form: MailForm,
    *,
    status: int = 200,
    refusal: str = "",
) -> HttpResponse:
    context = {
        "title": _("Hand-over"),
        "sheet": sheet,
        "piles": [(*pair, _list_url(request, pair[0])) for pair in sheet.piles],
        "asked": hours_form,
        "form": form,
        "refusal": refusal,
        "query": request.GET.urlencode(),
        "server_now": sheet.now.isoformat(),
    }
    return own_page(request, "admin/workers/incident/hand_over.html", Incident, context, status)
