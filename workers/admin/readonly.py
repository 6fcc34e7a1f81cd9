"""Rows that nobody adds, edits or deletes by hand: the state store alone writes them."""

from typing import Any, NoReturn

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest


class ReadOnlyAdmin(admin.ModelAdmin):
    """An admin that shows rows and changes none, whatever permissions a user has."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise PermissionDenied

    def delete_model(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise PermissionDenied

    def delete_queryset(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise PermissionDenied
