"""The operators' admin of the shop: orders joined with their processes, and the catalogue."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from orders.admin import client, dead_letter, events, order, product

__all__ = ["client", "dead_letter", "events", "order", "product"]

admin.site.site_header = _("Lantern & Loom: operations")
admin.site.site_title = _("Lantern & Loom")
admin.site.index_title = _("Operations")
# Wide lists need the room; the sections are tabs below the breadcrumbs instead.
admin.site.enable_nav_sidebar = False
