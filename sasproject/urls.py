"""Routes: the shop at the root, the HTTP API, the operators' admin.

Liveness and readiness are answered before any of these (``workers.views.probes``)."""

from django.contrib import admin
from django.urls import include, path

from orders.api import api, docs
from sasproject import fault_page

handler403 = "orders.views.pages.refused"
handler404 = "orders.views.pages.not_found"
handler500 = "orders.views.pages.broken"
admin.autodiscover()
urlpatterns = [
    path("api/v1/docs", docs),
    path("api/v1/", api.urls),
    # Before the admin, which answers every address below its own.
    path("admin/faults/", fault_page.urls),
    path("admin/", admin.site.urls),
    path("", include("orders.urls")),
]
