"""Who acts on a page of the admin, and the entry of it in Django's log."""

from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.http import HttpRequest

from workers.states import PEOPLE


def actor(request: HttpRequest) -> str:
    """Return the name of the user of a request in the journal."""
    return f"{PEOPLE}{request.user.get_username()}"


def write_log(request: HttpRequest, row: Any, message: str, reason: str) -> None:
    """Enter an act in Django's admin log, in addition to the journal.

    Call it after the act, not in its transaction: the journal is the record of what happened.
    """
    assert request.user.pk is not None
    text = f"{message} {reason}".strip()
    LogEntry.objects.log_actions(
        user_id=request.user.pk,
        queryset=[row],
        action_flag=CHANGE,
        change_message=text,
        single_object=True,
    )
