"""Routes: the shop at the root, the operators' admin, liveness and readiness."""

from django.contrib import admin
from django.urls import include, path

from sasproject import health

urlpatterns = [
    path("livez", health.live),
    path("readyz", health.ready),
    path("admin/", admin.site.urls),
    path("", include("orders.urls")),
]
