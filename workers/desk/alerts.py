"""The desk's kinds of alerts.

Each declares its title, severity, remedy, message, and when its cause has ended: SQL about the
alert ``a`` with its process ``p`` and step ``s``, if it has any, and the bounds ``c``
(``store.alert_resolution``).  An alert without that SQL closes when it is acknowledged.
"""

from django.utils.translation import gettext_lazy as _

from workers.definitions.alert_kinds import AlertKind, IncidentKind, Severity, register_alert_kind

for _kind in (
    AlertKind(
        "route_undeliverable",
        IncidentKind.OTHER,
        Severity.URGENT,
        _("Route %(about)s cannot be notified of incidents"),
        _(
            "See its deliveries in the admin for what was answered, fix its address or its"
            " receiver, and have what was given up sent again."
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
        _("See on the doctor's page why it matters and what to do, and do that."),
        goes_on=_("the doctor looks again each minute"),
        message=_("%(probe)s: %(finding)s. %(why)s"),
        ended_sql="NOT EXISTS (SELECT 1 FROM desk_proberesult r WHERE r.level = 'error'"
        " AND a.cause = 'probe_failed:' || r.name)",
    ),
):
    register_alert_kind(_kind)
