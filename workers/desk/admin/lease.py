"""Who performs each periodic duty, and when it was last performed."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.conf import sas
from workers.desk.admin import badges, changes
from workers.desk.admin.changes import Marker
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.models import Lease
from workers.ops.wait_facts import Duty
from workers.store import leases

#: Seconds between two rounds of each duty that is shown as overdue.
INTERVALS: dict[str, Callable[[], float]] = {
    leases.SWEEP: lambda: sas.sweep_seconds,
    leases.POLL: lambda: sas.poll_seconds,
}


def _performed(row: Any) -> SafeString | str:
    ago = badges.countdown(row.performed_at, row.now, _("%s in the future"), _("%s ago"))
    interval = INTERVALS.get(row.name)
    duty = Duty(interval(), row.performed_at) if interval else None
    if duty is None or not duty.is_late(row.now):
        return ago
    return format_html("{} {}", badges.label(_("overdue"), "error", "error"), ago)


def _failure(row: Any) -> SafeString | str:
    if not row.error:
        return ""
    ago = badges.countdown(row.failed_at, row.now, _("%s in the future"), _("%s ago"))
    text = format_html("{}: {}", ago, row.error)
    if not row.failures:
        # The duty has been performed since.
        return text
    return format_html("{} {}", badges.label(_("raises"), "error", "error"), text)


@admin.register(Lease)
class LeaseAdmin(ReadOnlyAdmin, LiveListAdmin):
    """The duties: who performs each, and when it was last performed."""

    list_display = ("name", "performed", "holder_now", "expires", "failure")
    list_display_links = None
    ordering = ("name",)

    performed = column(lazy("last performed"), _performed, "performed_at")
    holder_now = column(lazy("held by"), lambda row: row.holder or _("nobody now"))
    expires = column(
        lazy("lease ends"),
        lambda row: badges.countdown(row.expires_at, row.now, _("in %s"), _("%s ago")),
    )
    failure = column(lazy("raised last"), _failure)

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_leases()

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
