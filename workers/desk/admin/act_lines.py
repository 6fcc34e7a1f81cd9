"""Journal rows of what people did, for the audit: in words, masked, with their subjects."""

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

#: By key of a detail: the page of the row it names, and the permission to see it.
_PAGES: Mapping[str, tuple[str, str]] = {
    "job": ("admin:desk_bulkjob_change", "desk.view_bulkjob"),
    "alert": ("admin:workers_alert_change", "workers.view_alert"),
    "delivery": ("admin:desk_delivery_change", "desk.view_delivery"),
}
#: Keys that other columns show, or that name nothing.
_NO_NAME = frozenset({"reason", "code", "steps", "sender", "personal", "rows", "fields"})


def put_into_words(rows: Sequence[Act], user: Any, *, is_personal: bool = False) -> None:
    """Set ``line``, ``about_text``, ``about_url`` and ``job`` on each row; mask it unless personal.

    Changes rows in memory only: never save them.  Without a ``user`` rows get no URLs.
    """
    masks = masking.of_processes(row.process_id for row in rows)
    masks_by_name = {} if is_personal else masking.of_named(rows)
    urls = subjects.pages(row.process_id for row in rows if row.process_id) if user else {}
    job_ids = _jobs(rows) if user and user.has_perm("desk.view_bulkjob") else {}
    for row in rows:
        mask = UNMASKED if is_personal else masks[row.process_id]
        row.detail = mask.record(row.detail)
        for name, by_id in masks_by_name.items():
            row.detail = by_id.get(row.detail.get(name), UNMASKED).record(row.detail)
        untyped: Any = row
        untyped.line = timeline.line(row, row.at)
        untyped.about_text, untyped.about_url = _about(row, user, urls)
        untyped.job = job_ids.get(row.pk)


def _jobs(rows: Sequence[Act]) -> dict[int, int]:
    """Return the ids of the jobs behind rows about processes, by row id, in one query.

    A row does not name its job: what the job's person did to one of its processes while it ran
    counts as done by the job.
    """
    processes = {row.process_id for row in rows if row.process_id is not None}
    if not processes:
        return {}
    items = BulkItem.objects.filter(process__in=processes, state=ItemState.LANDED)
    columns = ("process", "job", "job__actor", "job__created_at", "job__ended_at")
    job_ids: dict[int, int] = {}
    for process_id, job_id, actor, began_at, ended_at in items.order_by("job").values_list(
        *columns
    ):
        for row in rows:
            is_by_job = row.process_id == process_id and row.actor == actor and row.at >= began_at
            if is_by_job and (ended_at is None or row.at <= ended_at + LAST_CHUNK):
                job_ids[row.pk] = job_id
    return job_ids


def _about(row: Act, user: Any, urls: Mapping[int, str]) -> tuple[str, str]:
    """Return what a row is about and the URL of its page; empty if there is none to see."""
    if row.process_id is not None:
        # A deleted process leaves its rows behind.
        fallback = _("process %(id)s") % {"id": row.process_id}
        subject = row.process.subject if row.process else fallback
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
    pairs = [(name, value) for name, value in row.detail.items() if name not in _NO_NAME]
    return (f"{pairs[0][0]} {pairs[0][1]}", "") if pairs else ("", "")


def _page(user: Any, right: str, page: str, key: Any) -> str:
    if not user or not isinstance(key, int) or not user.has_perm(right):
        return ""
    return reverse(page, args=[key])
