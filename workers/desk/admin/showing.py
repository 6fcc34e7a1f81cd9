"""Showing personal data: a right of its own, for one row and a while, entered in the journal."""

import time
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workers.store import journal

PERMISSION = "workers.show_personal"
#: For so long data are shown, in the session that asked for them.
SECONDS = 600
#: Where the session keeps which rows are shown, and until when.
KEPT = "sas_shown"
#: Rows shown at a time; the oldest are masked again.
MOST = 50

SHOW, HIDE = _("Show personal data"), _("Mask personal data")


def may(request: HttpRequest) -> bool:
    """Return whether the user of a request may ask for personal data."""
    return bool(request.user.has_perm(PERMISSION))


def is_shown(request: HttpRequest, row: Model) -> bool:
    """Return whether a row's personal data are shown to the user of a request now."""
    until = _expiries(request).get(_name(row), 0)
    return may(request) and until > time.time()


def show(request: HttpRequest, row: Model, actor: str, process_id: int | None = None) -> None:
    """Show a row's personal data from now on, and journal it; refused without the right."""
    if not may(request):
        raise PermissionDenied
    journal.record_act("personal_shown", {"what": _name(row)}, actor=actor, process_id=process_id)
    expiries = {name: until for name, until in _expiries(request).items() if until > time.time()}
    expiries.pop(_name(row), None)
    newest = list(expiries.items())[-MOST + 1 :]
    request.session[KEPT] = {**dict(newest), _name(row): time.time() + SECONDS}


def hide(request: HttpRequest, row: Model) -> None:
    """Mask a row's personal data again."""
    expiries = _expiries(request)
    request.session[KEPT] = {name: until for name, until in expiries.items() if name != _name(row)}


def _expiries(request: HttpRequest) -> dict[str, Any]:
    expiries = request.session.get(KEPT)
    return expiries if isinstance(expiries, dict) else {}


def _name(row: Model) -> str:
    return f"{row._meta.label_lower}:{row.pk}"
