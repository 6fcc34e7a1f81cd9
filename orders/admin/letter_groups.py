"""Open dead letters grouped by cause and sender: a page, and a filter."""

from dataclasses import replace
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_safe

from orders import letter_groups
from orders.admin import resolving
from orders.models import DeadLetter
from workers.desk.admin import changes, lists, masking
from workers.desk.admin.changes import Marker
from workers.desk.admin.list_filter import chosen, list_filter, row_id

VIEW = "orders.view_deadletter"


def marker() -> Marker:
    """Return the marker of the dead-letter pages: any new letter, action or note changes it."""
    return changes.of_everything(beside=change_queries())


def change_queries() -> tuple[QuerySet[Any], QuerySet[Any]]:
    """Return querysets that change with the dead letters: the newest id, and the open count."""
    letters = DeadLetter.objects.filter(state=DeadLetter.State.OPEN).order_by()
    counts = letters.values("state").annotate(count=Count("pk")).values("count")
    return DeadLetter.objects.order_by("-pk").values("pk")[:1], counts


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the groups, largest first; a poll gets only the groups, without the page."""
    if not request.user.has_perm(VIEW):
        raise PermissionDenied
    now = marker()

    def context() -> dict[str, Any]:
        # A cause may quote the message.
        groups = [
            replace(group, cause=masking.UNKNOWN.text(group.cause))
            for group in letter_groups.read()
        ]
        open_acts = [act for act in resolving.ACTS if act.state == DeadLetter.State.OPEN]
        return {
            "groups": groups,
            "is_cut": len(groups) == letter_groups.MOST,
            "now": now.at,
            "acts": open_acts if resolving.may(request) else [],
            "title": _("Dead letters by reason"),
        }

    folder = "admin/orders/dead_letter"
    templates = (f"{folder}/groups.html", f"{folder}/_groups.html")
    model_admin = admin.site.get_model_admin(DeadLetter)
    return lists.live_page(request, model_admin, now, templates, context)


def _keep_alike(_filter: Any, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    letter_id = row_id(value)
    if letter_id is None:
        return rows.none()
    return rows.filter(pk__in=letter_groups.like(letter_id).values("pk"))


#: Filters by group of open letters; shown only while a link of the group page has set it.
LikeFilter = list_filter(
    "like",
    lazy("group"),
    chosen(lambda value: _("open ones like dead letter %(pk)s") % {"pk": value}),
    _keep_alike,
    is_strict=False,
)
