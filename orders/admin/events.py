"""Labels of the shop's own events in the journal and in the audit."""

from django.utils.translation import gettext_lazy as _

from workers.desk.admin.wording import register_events

register_events(
    {
        "dead_letter_replayed": _("A dead letter was replayed"),
        "dead_letter_discarded": _("A dead letter was discarded"),
        "dead_letter_restored": _("A dead letter was restored"),
        "client_add": _("An API client was added"),
        "client_issue": _("An API client was given a token"),
        "client_rotate": _("The tokens of an API client were rotated"),
        "client_revoke": _("The tokens of an API client were revoked"),
        "client_revoke_one": _("A token of an API client was revoked"),
        "client_limit": _("The limit of an API client was set"),
        "client_deactivate": _("An API client was deactivated"),
        "client_activate": _("An API client was activated"),
        "client_reveal": _("The webhook secret of an API client was shown"),
        "client_rotate_secret": _("The webhook secret of an API client was changed"),
        "product_added": _("A product was added"),
        "product_set": _("A product was changed"),
        "product_deleted": _("A product was deleted"),
        "order_numbers_moved": _("The next order number was moved up"),
    }
)
