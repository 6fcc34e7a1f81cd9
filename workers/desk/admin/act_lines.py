"""What people did, in words: journal rows for the audit, masked, with what they are about."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from workers.desk.admin import badges, masking, subjects, timeline
from workers.desk.admin.act_filters import LAST_CHUNK
from workers.desk.admin.masking import UNMASKED
from workers.desk.models import BulkItem
from workers.desk.states import ItemState
from workers.models import Act

#: What a detail may name: its page, and the right to see it.
_PAGES: Mapping[str, tuple[str, str]] = {
    "job": ("admin:desk_bulkjob_change", "desk.view_bulkjob"),
    "alert": ("admin:workers_alert_change", "workers.view_alert"),
    "delivery": ("admin:desk_delivery_change", "desk.view_delivery"),
}
#: Said in other columns, or no name of anything.
_NO_NAME = frozenset({"reason", "code", "steps", "sender", "personal", "rows", "fields"})


def put_into_words(rows: Sequence[Act], user: Any, *, is_personal: bool = False) -> None:
    """Give each row its ``line``, what it is about and its ``job``; mask it, unless personal.

    In memory, for a page or a file: never to be saved.  Without a ``user`` there are no addresses.
    """
    masks = masking.of_processes(row.process_id for row in rows)
    named = {} if is_personal else masking.of_named(rows)
    urls = subjects.pages(row.process_id for row in rows if row.process_id) if user else {}
    by_job = _jobs(rows) if user and user.has_perm("desk.view_bulkjob") else {}
    for row in rows:
        mask = UNMASKED if is_personal else masks[row.process_id]
        row.detail = mask.record(row.detail)
        for name, by_id in named.items():
            row.detail = by_id.get(row.detail.get(name), UNMASKED).record(row.detail)
        shown: Any = row
        shown.line = timeline.line(row, row.at)
        shown.about_text, shown.about_url = _about(row, user, urls)
        shown.job = by_job.get(row.pk)


def _jobs(rows: Sequence[Act]) -> dict[int, int]:
    """Return the jobs that did what rows tell of processes, by the ids of the rows, in one query.

    A row does not name its job: what a job's person did to one of its processes while it ran, it
    did.
    """
    processes = {row.process_id for row in rows if row.process_id is not None}
    if not processes:
        return {}
    items = BulkItem.objects.filter(process__in=processes, state=ItemState.LANDED)
    columns = ("process", "job", "job__actor", "job__created_at", "job__ended_at")
    found: dict[int, int] = {}
    for process_id, job_id, actor, begun, ended in items.order_by("job").values_list(*columns):
        for row in rows:
            is_its = row.process_id == process_id and row.actor == actor and row.at >= begun
            if is_its and (ended is None or row.at <= ended + LAST_CHUNK):
                found[row.pk] = job_id
    return found


def _about(row: Act, user: Any, urls: Mapping[int, str]) -> tuple[str, str]:
    """Return what a row is about and the address of its page; empty: it has none to see."""
    if row.process_id is not None:
        # One that was deleted since has left its rows.
        gone = _("process %(id)s") % {"id": row.process_id}
        subject = row.process.subject if row.process else gone
        url = urls.get(row.process_id, "")
        if not url and user and row.process and user.has_perm("workers.view_process"):
            url = reverse("admin:workers_process_change", args=[row.process_id])
        return subject, url
    if "incident" in row.detail:
        return str(row.detail["incident"]), _page(
            user, "workers.view_incident", "admin:workers_incident_change", row.detail.get("id")
        )
    for name, (page, right) in _PAGES.items():
        if name in row.detail:
            text = f"{name} {row.detail[name]}"
            return text, _page(user, right, page, row.detail[name])
    if "kind" in row.detail and "name" in row.detail:
        return badges.hold(str(row.detail["kind"]), str(row.detail["name"])), ""
    named = [(name, value) for name, value in row.detail.items() if name not in _NO_NAME]
    return (f"{named[0][0]} {named[0][1]}", "") if named else ("", "")


def _page(user: Any, right: str, page: str, key: Any) -> str:
    if not user or not isinstance(key, int) or not user.has_perm(right):
        return ""
    return reverse(page, args=[key])
