"""What the desk's own alerts mean, and what ends them."""

from django.utils.translation import gettext_lazy as _

from workers.definitions.alert_kinds import AlertKind, IncidentKind, Severity, register_alert_kind

for _kind in (
    AlertKind(
        "route_undeliverable",
        IncidentKind.OTHER,
        Severity.URGENT,
        _("Route %(about)s cannot be notified of incidents"),
        _(
            "Check the answers among its deliveries, fix its address or its receiver, and resend"
            " what was given up."
        ),
        message=_(
            "Route %(route)s cannot be notified of incidents: %(reason)s. Fix it, then send a test"
            " from its page in the admin."
        ),
    ),
    AlertKind(
        "probe_failed",
        IncidentKind.INSTALLATION,
        Severity.ERROR,
        {
            "found": _("The doctor finds an error: %(finding)s"),
            "": _("The doctor's probe %(about)s finds an error"),
        },
        _("Follow the remedy on the doctor's page."),
        goes_on=_("the doctor checks again every minute"),
        message=_("%(probe)s: %(finding)s. %(why)s"),
        ended_sql="NOT EXISTS (SELECT 1 FROM desk_proberesult r WHERE r.level = 'error'"
        " AND a.cause = 'probe_failed:' || r.name)",
    ),
):
    register_alert_kind(_kind)
