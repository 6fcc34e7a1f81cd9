"""Sets of processes that a terminal can name: an incident's, a cause's, another job's."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from workers.definitions import registry
from workers.definitions.attributes import all_typed
from workers.desk.admin import causes
from workers.desk.admin.filters import of_job, with_step
from workers.desk.models import Incident
from workers.exceptions import StateError
from workers.models import Process, Step
from workers.rules import attributes
from workers.rules.masks import STARS
from workers.states import LIVE_STEP_STATES
from workers.store.attributes import having

#: The options that name a set, with their help texts.
OPTIONS: Mapping[str, str] = {
    "incident": "the processes of an incident, by its key",
    "error": "what stands in error for one cause: the last part of its address in the admin",
    "job": "the processes of another job: ID, or ID:RESULT such as 12:failed_again",
    "workflow": "of this workflow only",
    "step": "whose current step is called so",
    "agent": "whose current step is at this agent",
}


def find(options: Mapping[str, Any]) -> tuple[QuerySet[Process], dict[str, str]]:
    """Return the processes that match all options, and the options as a job's source.

    Raises ``StateError`` if no option is given, or if one names nothing that exists.
    """
    source = {name: str(options[name]) for name in OPTIONS if options.get(name)}
    where = options.get("where") or []
    personal = attributes.personal(registry.workflows())
    if where:
        shown = ((name, STARS if name in personal else words) for name, words in where)
        source["where"] = " ".join(map("=".join, shown))
    if not source:
        names = ", ".join(f"--{name}" for name in (*OPTIONS, "where"))
        raise StateError(f"A job needs a set of processes. Give one or more of {names}.")
    rows = Process.objects.all()
    if "incident" in source:
        rows = _members(rows, source["incident"])
    if "error" in source:
        cause = causes.cause_of(source["error"])
        if cause is None:
            raise StateError(f"Nothing stands in error for cause {source['error']!r}.")
        rows = rows.filter(pk__in=causes.members(cause).values("process"))
    if "job" in source:
        rows = of_job(rows, "", source["job"])
    if where:
        try:
            rows = having(rows, "", all_typed(registry.attributes(), where))
        except ValueError as error:
            raise StateError(str(error)) from None
    if "workflow" in source:
        rows = rows.filter(workflow=source["workflow"])
    columns = (("step", "name"), ("agent", "agent"))
    conditions = {column: source[name] for name, column in columns if name in source}
    if conditions:
        rows = with_step(rows, "", Step.objects.filter(state__in=LIVE_STEP_STATES, **conditions))
    return rows, source


def _members(rows: QuerySet[Process], key: str) -> QuerySet[Process]:
    """Keep the processes of an open incident whose alerts are not resolved."""
    incident = Incident.objects.filter(key=key, resolved_at=None).first()
    if incident is None:
        raise StateError(f"There is no open incident {key!r}. See manage.py sas incidents.")
    members = incident.alerts.filter(resolved_at=None, process__isnull=False)
    return rows.filter(pk__in=members.order_by().values("process"))
