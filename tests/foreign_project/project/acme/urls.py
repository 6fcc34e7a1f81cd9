import os

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls)]
if os.environ.get("ACME_FORGETS") != "engine":
    urlpatterns += [path("sas/", include("workers.urls"))]
