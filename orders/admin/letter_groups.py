"""Open dead letters by what is wrong with them and who sent them: a page, and a filter."""

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
from orders.admin import acts
from orders.models import DeadLetter
from workers.desk.admin import changes, lists, masking
from workers.desk.admin.changes import Marker

VIEW = "orders.view_deadletter"


def marker() -> Marker:
    """Return what the pages of dead letters show: any new one, any act, any note."""
    return changes.of_everything(beside=told_by())


def told_by() -> tuple[QuerySet[Any], QuerySet[Any]]:
    """Return what tells of any change: the newest dead letter, and how many are open."""
    is_open = DeadLetter.objects.filter(state=DeadLetter.State.OPEN).order_by()
    counts = is_open.values("state").annotate(count=Count("pk")).values("count")
    return DeadLetter.objects.order_by("-pk").values("pk")[:1], counts


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the groups, the largest first; a poll gets them alone."""
    if not request.user.has_perm(VIEW):
        raise PermissionDenied
    now = marker()

    def context() -> dict[str, Any]:
        # What is wrong with a message may quote it.
        groups = [
            replace(group, cause=masking.UNKNOWN.text(group.cause))
            for group in letter_groups.read()
        ]
        on_open = [act for act in acts.ACTS if act.state == DeadLetter.State.OPEN]
        return {
            "groups": groups,
            "is_cut": len(groups) == letter_groups.MOST,
            "now": now.at,
            "acts": on_open if acts.may(request) else [],
            "title": _("Dead letters by reason"),
        }

    folder = "admin/orders/dead_letter"
    templates = (f"{folder}/groups.html", f"{folder}/_groups.html")
    model_admin = admin.site.get_model_admin(DeadLetter)
    return lists.live_page(request, model_admin, now, templates, context)


class LikeFilter(admin.SimpleListFilter):
    """The open ones of one group; shown where the page of groups led to it."""

    title = lazy("group")
    parameter_name = "like"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = self.value()
        if not chosen:
            return []
        return [(chosen, _("open ones like dead letter %(pk)s") % {"pk": chosen})]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[DeadLetter]
    ) -> QuerySet[DeadLetter]:
        chosen = self.value()
        if not chosen:
            return queryset
        if not (chosen.isascii() and chosen.isdecimal() and len(chosen) < 19):
            return queryset.none()
        return queryset.filter(pk__in=letter_groups.like(int(chosen)).values("pk"))
