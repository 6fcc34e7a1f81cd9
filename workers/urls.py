"""URLs for services that answer later, and for health probes.

``path("sas/", include("workers.urls"))``.
"""

from django.urls import path

from workers.views import callbacks, probes, webhooks
from workers.views.problems import json_view

app_name = "workers"
urlpatterns = [
    path("callbacks/<str:token>", json_view(callbacks.answer), name="callback"),
    path("webhooks/<str:provider>", json_view(webhooks.take), name="webhook"),
    path("livez", probes.live, name="livez"),
    path("readyz", probes.ready, name="readyz"),
]
