"""The shop's contribution to incidents: the totals of its orders, and its own alert kinds."""

from collections.abc import Collection
from decimal import Decimal

from django.utils.translation import gettext_lazy as _

from orders import dead_letters, returning
from orders.models import Order
from workers import AlertKind, IncidentKind, Severity, register_alert_kind, register_amounts


@register_amounts
def totals(process_ids: Collection[int]) -> dict[int, Decimal]:
    """Return the totals of orders and the refunds of returns, by process."""
    orders = Order.objects.filter(process__in=set(process_ids))
    return {
        **dict(orders.values_list("process_id", "total")),
        **returning.refunds(process_ids),
    }


register_alert_kind(
    AlertKind(
        "dead_letters_full",
        IncidentKind.SUBMITTER,
        Severity.ERROR,
        {
            "": _("Too many dead letters of %(about)s are open, further ones are not kept"),
            "unproven": _(
                "Too many dead letters of senders that are not proven are open, further ones are"
                " not kept"
            ),
        },
        _(
            "Replay or discard the open ones; ask the client, or take the broker login from"
            " whoever sends such things."
        ),
        goes_on=_("further messages of this sender that are no orders are refused"),
        message={
            "sender": _(
                "%(sender)s left %(most)s dead letters or %(bytes)s bytes open: further messages"
                " that cannot be orders are refused and not kept."
            ),
            "unproven": _(
                "Senders that are not proven left %(most)s dead letters or %(bytes)s bytes open:"
                " further messages that cannot be orders are refused and not kept."
            ),
            "count": _("Not kept so far: %(count)s. Replay or discard the open ones."),
        },
    )
)
register_alert_kind(
    AlertKind(
        "dead_letters_open",
        IncidentKind.SUBMITTER,
        Severity.NOTICE,
        {
            "": _("Messages of %(about)s could not become orders"),
            "unproven": _("Messages of senders that are not proven could not become orders"),
        },
        _("See dead letters by reason; ask the client, then replay, correct or discard them."),
        message={
            "sender": _(
                "Dead letters of %(sender)s are open: messages that could not become orders."
            ),
            "unproven": _(
                "Dead letters of senders that are not proven are open: messages that could not"
                " become orders."
            ),
        },
        ended=dead_letters.without_open,
    )
)
register_alert_kind(
    AlertKind(
        "password_guessing",
        IncidentKind.OTHER,
        Severity.NOTICE,
        _("Somebody guesses the password of %(about)s from many addresses"),
        _("Give that user a long password; keep the admin behind your VPN or single sign-on."),
        message=_(
            "Somebody guesses the password of %(name)s from many addresses. Nobody is locked out by"
            " it. Give that user a long password, or close the admin to the outside."
        ),
    )
)
