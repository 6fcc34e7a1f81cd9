"""Addresses of a project that takes nothing of the shop."""

from django.urls import include, path

urlpatterns = [path("sas/", include("workers.urls"))]
