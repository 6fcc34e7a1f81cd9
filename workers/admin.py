"""Read-only admins, and a plain admin of the engine's rows without the desk.

Inputs and results are not shown: they may be personal, and only the desk masks them.  Alerts are
codes with parameters, which the reference explains: the desk has their texts.
"""

import json
from typing import Any, NoReturn

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest

from workers.models import Alert, Flow, Hold, Process, Schedule, Sink, Step
from workers.store import personal_data

#: The fields shown in the list and on the page of each model.
COLUMNS: dict[type[Model], tuple[str, ...]] = {
    Process: (
        *("id", "subject", "workflow", "version", "state", "outcome"),
        *("created_at", "started_at", "finished_at", "paused_at", "deadline_at"),
    ),
    Step: (
        *("id", "process_id", "name", "agent", "state", "attempt", "failure_count"),
        *("not_before", "started_at", "complete_by", "finished_at"),
    ),
    Alert: ("id", "code", "process_id", "raised_at", "times", "acknowledged_at", "resolved_at"),
    Sink: ("id", "process_id", "kind", "state", "cursor", "last", "tries", "next_try_at"),
    Flow: (
        *("agent", "window", "rate_per_second", "unavailable_streak"),
        *("opened_at", "open_until", "forced", "deferred_window"),
    ),
    Schedule: (
        *("id", "name", "workflow", "cron", "every_seconds", "time_zone", "overlap"),
        *("next_at", "paused_at", "last_at", "last_process", "missed", "skipped"),
    ),
    Hold: ("id", "kind", "name", "began_at", "began_by", "ended_at", "ended_by"),
}


@admin.display
def parameters(row: Any) -> str:
    """Return an alert's parameters, masked as its workflow declares."""
    mask = personal_data.of_processes([row.process_id])[row.process_id]
    return mask.text(json.dumps(row.params, ensure_ascii=False))


@admin.display
def reference(row: Any) -> str:
    return f'See "Alerts" in the documentation: {row.code}'


#: What a row's page shows besides.
ON_PAGE: dict[type[Model], tuple[Any, ...]] = {Alert: (parameters, reference)}


class ReadOnlyAdmin(admin.ModelAdmin):
    """An admin that shows rows and changes none, whatever the user's permissions."""

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


class RowsAdmin(ReadOnlyAdmin):
    """Lists the newest rows first, without counting all."""

    show_full_result_count = False
    ordering = ("-pk",)


if not apps.is_installed("workers.desk"):
    for _model, _columns in COLUMNS.items():
        admin.site.register(
            _model,
            type(
                f"{_model.__name__}Admin",
                (RowsAdmin,),
                {
                    "list_display": _columns,
                    "fields": (*_columns, *ON_PAGE.get(_model, ())),
                    "readonly_fields": ON_PAGE.get(_model, ()),
                },
            ),
        )
