"""List columns about a process, for any list of rows that each have one."""

from typing import Any

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from workers.desk.admin import badges
from workers.desk.admin.snapshot import ProcessSnapshot
from workers.states import StepState


class ProcessColumns:
    """Columns that read ``row.standing``, which the change list has put there."""

    @admin.display(description=lazy("current step"))
    def current_step(self, row: Any) -> SafeString | str:
        current = _standing(row).current
        if current is None:
            return badges.NOTHING
        # Where step and process are in the same state, saying it once is enough.
        is_same = current.state == _standing(row).process.state
        return format_html(
            '{} <span class="sas-agent">{}</span>{}',
            current.name,
            current.agent,
            "" if is_same else badges.state(current.state),
        )

    @admin.display(description=lazy("failures"))
    def failures(self, row: Any) -> SafeString | str:
        current = _standing(row).current
        if current is None:
            return badges.NOTHING
        counted = _("%(n)d of %(max)d") % {
            "n": current.failure_count,
            "max": current.failure_threshold,
        }
        attempt = _("attempt %(n)d") % {"n": current.attempt} if current.attempt else ""
        return format_html(
            '<span class="sas-label">{} </span>{} <span class="sas-agent">{}</span>',
            _("failures"),
            counted,
            attempt,
        )

    @admin.display(description=lazy("complete by"))
    def complete_by(self, row: Any) -> SafeString | str:
        """Return when the current attempt must be over, and who is at it."""
        standing = _standing(row)
        current = standing.current
        if current is None:
            return badges.NOTHING
        if current.state == StepState.PENDING and current.retry_seconds is not None:
            return badges.countdown(current.not_before, standing.now, _("again in %s"), _("due"))
        until = badges.countdown(current.complete_by, standing.now, is_alarm=True)
        if not current.locked_by:
            return until
        # Time does not run yet for a claim that is sent and not started.
        shown = until if current.complete_by else ""
        worker = badges.worker(current.locked_by)
        return format_html('{} <span class="sas-agent">{}</span>', shown, worker)

    @admin.display(description=lazy("why"))
    def why(self, row: Any) -> SafeString | str:
        """Return what the current step waits for, and the last fault where that is not told."""
        standing = _standing(row)
        said = standing.current.explanation if standing.current else ""
        message = (standing.fault or {}).get("message")
        fault: SafeString | str = ""
        if standing.fault and not (message and message in said):
            fault = badges.short_fault(standing.fault)
        if not said:
            return fault or badges.NOTHING
        return format_html('<span class="sas-why">{}</span> {}', said, fault)


def state_of(row: Any) -> SafeString:
    """Return a process's state, that it is paused, and its open alerts."""
    standing = _standing(row)
    count = len(standing.process.open_alerts)  # type: ignore[attr-defined]
    said = [badges.state(standing.process.state)]
    if standing.is_paused:
        said.append(badges.label(_("paused"), "pending", "skipped"))
    if count:
        alerts = ngettext("%(n)d alert", "%(n)d alerts", count) % {"n": count}
        said.append(badges.label(alerts, "alert", "alert"))
    return format_html_join("", "{}", ((part,) for part in said))


def age_of(row: Any) -> SafeString | str:
    standing = _standing(row)
    return badges.age(standing.process.created_at, standing.now)


def _standing(row: Any) -> ProcessSnapshot:
    standing: ProcessSnapshot = row.standing
    return standing
