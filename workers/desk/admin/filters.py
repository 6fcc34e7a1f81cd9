"""List filters about a process, for any list of rows that each have one."""

from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    F,
    Func,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.definitions import registry
from workers.definitions.attributes import all_typed
from workers.desk.admin import wording
from workers.desk.admin.list_filter import (
    ListFilter,
    by_column,
    chosen,
    list_filter,
    names,
    row_id,
)
from workers.desk.models import BulkItem, Incident
from workers.desk.operate import job_results
from workers.desk.operate.job_results import Result
from workers.desk.rules import list_query
from workers.desk.rules.list_query import amounts, period
from workers.desk.texts import alert_texts
from workers.models import Alert, Child, Journal, LiveStep, Process, Step
from workers.states import (
    LIVE_STEP_STATES,
    OPEN_PROCESS_STATES,
    ProcessState,
    StepState,
)
from workers.store.attributes import having
from workers.store.db import dialect

#: How much later than the time of its submission the id of a process may be given.
OUT_OF_ORDER = timedelta(minutes=1)
STILL_SO = Q(resolved_at=None)
#: Newest live steps that supply the choices of a filter.
SAMPLED = 1000


def among(rows: QuerySet[Any], path: str, process_ids: QuerySet[Any]) -> QuerySet[Any]:
    """Keep the rows whose process is among ``process_ids``, which are few and are queried first.

    A list in the order of its processes then reads only the rows it shows.  Use it at most once
    per list: PostgreSQL would compare two such arrays pair by pair.
    """
    if not dialect.is_postgres():
        return rows.filter(**{f"{path}pk__in": process_ids})
    # Ids of an array are looked up one by one; for a subquery the planner may read all rows.
    array = ArraySubquery(process_ids, template="(ARRAY(%(subquery)s))")
    is_among = Func(
        F(f"{path}pk"),
        F("candidates"),
        template="%(expressions)s",
        arg_joiner=" = ANY ",
        output_field=BooleanField(),
    )
    narrowed: QuerySet[Any] = rows.alias(candidates=array).filter(is_among)
    return narrowed


def not_over(rows: QuerySet[Any], path: str) -> QuerySet[Any]:
    """Keep the rows whose process goes on or is in error."""
    if "candidates" in rows.query.annotations:
        return rows.filter(**{f"{path}finished_at__isnull": True})
    # Each query uses its own partial index.
    going_on = Process.objects.filter(state__in=sorted(OPEN_PROCESS_STATES)).order_by()
    return among(rows, path, going_on.values("pk").union(in_error(), all=True))


def with_step(rows: QuerySet[Any], path: str, steps: QuerySet[Any]) -> QuerySet[Any]:
    """Keep the rows whose process is not over and has one of these steps.

    A finished process may have a step in error, too: the one it was undone for.
    """
    return not_over(rows, path).filter(Exists(steps.filter(process=OuterRef(f"{path}pk"))))


def in_error() -> QuerySet[Any]:
    return Process.objects.filter(state=ProcessState.ERROR).order_by().values("pk")


def _with_open_alert() -> QuerySet[Any]:
    alerts = Alert.objects.filter(acknowledged_at=None, process__isnull=False)
    return alerts.order_by().values("process")


def _expired_again() -> QuerySet[Any]:
    """Return the processes that are not over and expired more than once.

    A process that recovered by itself needs no one.
    """
    expired = Journal.objects.filter(event="expired").order_by().values("process")
    # Counts a column of the index.
    again = expired.annotate(times=Count("process")).filter(times__gt=1).values("process")
    going_on = Q(state__in=OPEN_PROCESS_STATES) | Q(state=ProcessState.ERROR)
    return Process.objects.filter(going_on, pk__in=again).order_by().values("pk")


def _keep_needy(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    kinds = {"error": in_error, "alert": _with_open_alert, "expired": _expired_again}
    queries = [kinds[value]()] if value in kinds else [kind() for kind in kinds.values()]
    # Each query uses its own partial index; one condition for all would read every process.
    return among(rows, asked.path, queries[0].union(*queries[1:]) if queries[1:] else queries[0])


NeedsSomeoneFilter = list_filter(
    "needs",
    lazy("need"),
    (
        ("someone", lazy("Someone is needed")),
        ("error", lazy("In error")),
        ("alert", lazy("Open alert")),
        ("expired", lazy("Expired more than once")),
    ),
    _keep_needy,
)
StateFilter = list_filter(
    "state",
    lazy("process state"),
    lambda _filter: [(state, wording.state(state)) for state in ProcessState.values],
    by_column("state"),
)
WorkflowFilter = list_filter(
    "workflow",
    lazy("workflow"),
    # The workflows of the code: to get them from the rows would read all rows.
    names(lambda _request: (workflow.name for workflow in registry.workflows())),
    by_column("workflow"),
)
CurrentStepFilter = list_filter(
    "step",
    lazy("current step"),
    names(lambda request: _choices(request)["step"]),
    lambda asked, rows, value: with_step(
        rows, asked.path, Step.objects.filter(name=value, state__in=LIVE_STEP_STATES)
    ),
)
AgentInErrorFilter = list_filter(
    "agent",
    lazy("agent in error"),
    names(lambda request: _choices(request)["agent"]),
    lambda asked, rows, value: with_step(
        rows, asked.path, Step.objects.filter(agent=value, state=StepState.ERROR)
    ),
)


def _keep_having(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    known = registry.attributes()
    try:
        texts = all_typed(known, list_query.attributes(value))
    except ValueError:
        texts = {}
    return having(rows, asked.path, texts) if texts else rows.none()


#: Only when the query bar, or a saved view, linked here.
AttributeFilter = list_filter(list_query.WHERE, lazy("attribute"), chosen(), _keep_having)


def _keep_faulty(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    # As JSON, a code that looks like a number would be compared as one.
    code = Cast(KT("fault__code"), TextField())
    faulty = Step.objects.filter(state=StepState.ERROR).annotate(code=code)
    return with_step(rows, asked.path, faulty.filter(code=value))


FaultFilter = list_filter(
    "fault",
    lazy("fault in error"),
    names(lambda request: _choices(request)["fault"]),
    _keep_faulty,
)


def _choices(request: HttpRequest) -> dict[str, set[str]]:
    """Return the names of live steps, and the agents and faults of those in error: one query.

    Several filters of a list call it; the result is cached on the request.  Names and faults are
    those of the newest steps: all of them may be hundreds of thousands.  Others can still be given
    in the URL, and are among the causes of errors.
    """
    choices: dict[str, set[str]] | None = getattr(request, "_sas_choices", None)
    if choices is not None:
        return choices
    in_error = LiveStep.objects.filter(state=StepState.ERROR).order_by()
    agents = in_error.values_list(Value("agent", TextField()), "agent").distinct()
    code = Cast(KT("fault__code"), TextField())
    rows = agents.union(
        _newest(in_error).values_list(Value("fault", TextField()), code).distinct(),
        _newest(LiveStep.objects.filter(state__in=LIVE_STEP_STATES))
        .values_list(Value("step", TextField()), "name")
        .distinct(),
    )
    choices = {"agent": set(), "fault": set(), "step": set()}
    for kind, value in rows:
        if value:
            choices[kind].add(value)
    request._sas_choices = choices  # type: ignore[attr-defined]
    return choices


def _newest(live: QuerySet[LiveStep]) -> QuerySet[Step]:
    newest = live.order_by("-step_id").values("step_id")[:SAMPLED]
    return Step.objects.filter(pk__in=newest).order_by()


def is_paused(path: str = "") -> Q:
    """Return the condition that a process is paused, as in its index: one that is over is not."""
    return Q(**{f"{path}paused_at__isnull": False, f"{path}finished_at__isnull": True})


PausedFilter = list_filter(
    "paused",
    lazy("paused"),
    (("yes", lazy("Paused")),),
    lambda asked, rows, value: rows.filter(is_paused(asked.path)),
)


def _at_agent(value: str) -> str:
    state, _colon, agent = value.partition(":")
    return f"{agent}, {wording.state(state)}"


def _keep_at_agent(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    state, _colon, agent = value.partition(":")
    if state not in LIVE_STEP_STATES:
        return rows.none()
    # A step that waits for an answer holds no room, and is not the agent's work.
    steps = Step.objects.filter(agent=agent, state=state, deferral__isnull=True)
    return with_step(rows, asked.path, steps)


#: Processes with a step in one state at one agent, ``STATE:AGENT``: for links from numbers.
AtAgentFilter = list_filter("at", lazy("at agent"), chosen(_at_agent), _keep_at_agent)


def _period(asked: ListFilter) -> list[tuple[str, str]]:
    # Offered only when the query bar linked here: each fixed choice would cost a count.
    value = asked.value()
    return [(value, value)] if value and period(value) is not None else []


def _keep_since(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    span = period(value)
    assert span is not None
    at = timezone.now() - span
    return rows.filter(**{f"{asked.path}id__gte": first_id(at), f"{asked.path}created_at__gte": at})


#: Processes submitted in the last ``1h``, ``90m`` or ``7d``: any such period may be asked for.
#: Found from the first of them on, because ids are given in the order of submission.
SinceFilter = list_filter("since", lazy("submitted in the last"), _period, _keep_since)


def first_id(at: datetime) -> int:
    """Return a lower bound of the ids of processes submitted from an instant on.

    Halves the ids, with one look at an index each time; ``created_at`` itself has no index.
    """
    # Submissions side by side get their ids a little out of order.
    at -= OUT_OF_ORDER
    ids = Process.objects.aggregate(first=Min("pk"), last=Max("pk"))
    low, high = ids["first"] or 0, (ids["last"] or 0) + 1
    while low < high:
        middle = (low + high) // 2
        rows = Process.objects.filter(pk__gte=middle, pk__lt=high).order_by("pk")
        found = rows.values_list("pk", "created_at").first()
        if found is None or found[1] >= at:
            high = middle
        else:
            low = found[0] + 1
    return low


def _keep_group(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    born = Child.objects.filter(group=row_id(value) or 0, process__isnull=False)
    return among(rows, asked.path, born.values("process"))


#: The children of a group: for the link of their parent's page.
GroupFilter = list_filter(
    "group", lazy("child group"), chosen(lambda value: _("children of a step")), _keep_group
)


def _keep_with_agent(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    agents = [value]
    if "*" in value:
        agents = [agent.name for agent in registry.agents() if fnmatchcase(agent.name, value)]
    steps = Step.objects.filter(agent__in=agents, state__in=LIVE_STEP_STATES)
    return with_step(rows, asked.path, steps)


#: Processes whose current step is at an agent, or at one that ``payment.*`` matches.
WithAgentFilter = list_filter("with_agent", lazy("with agent"), chosen(), _keep_with_agent)


def _job_label(value: str) -> str:
    number, _colon, result = value.partition(":")
    text = _("job %(n)s") % {"n": number}
    return f"{text}, {Result(result).label}" if result in Result.values else text


def of_job(rows: QuerySet[Any], path: str, value: str) -> QuerySet[Any]:
    """Keep the rows whose process is in ``JOB`` or ``JOB:RESULT``; none for any other text."""
    number, colon, result = value.partition(":")
    job_id = row_id(number)
    if job_id is None or (colon and result not in Result.values):
        return rows.none()
    items = BulkItem.objects.filter(job=job_id)
    if result:
        items = job_results.of_result(job_id, result)
    process_ids = items.order_by().values("process")
    if "candidates" in rows.query.annotations:
        return rows.filter(**{f"{path}pk__in": process_ids})
    return among(rows, path, process_ids)


#: ``JOB``, or ``JOB:RESULT``.
JobFilter = list_filter(
    "job",
    lazy("job"),
    chosen(_job_label),
    lambda asked, rows, value: of_job(rows, asked.path, value),
)


def _incident_title(value: str) -> str:
    incident = Incident.objects.filter(pk=row_id(value) or 0).first()
    if incident is None:
        return _("one that is not there any more")
    return alert_texts.title(incident.code, incident.params)


def _keep_members(asked: ListFilter, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    """Keep members whose cause persists; of a resolved incident, all members that it had."""
    incident_id = row_id(value)
    if incident_id is None:
        return rows.none()
    resolved = Incident.objects.filter(pk=incident_id, resolved_at__isnull=False)
    return members(rows, asked.path, incident_id, STILL_SO | Q(Exists(resolved)))


#: The members of one incident; shown when its page linked here.
IncidentFilter = list_filter(
    "incident", lazy("incident"), chosen(_incident_title), _keep_members, asks_first=True
)


def members(
    rows: QuerySet[Any], path: str, incident_id: int, condition: Q = STILL_SO
) -> QuerySet[Any]:
    """Keep the rows whose process has alerts of an incident that meet ``condition``."""
    alerts = Alert.objects.filter(condition, group_id=incident_id, process__isnull=False)
    return among(rows, path, alerts.order_by().values("process"))


def amount_filter(column: str) -> type[ListFilter]:
    """Return a filter by the amount in a column, which needs an index.

    It takes the query bar's ``money``: ``>100``, ``<=99.50`` or ``100..500``.
    """

    def keep(_filter: Any, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        conditions = {f"{column}__{lookup}": amount for lookup, amount in amounts(value).items()}
        return rows.filter(**conditions) if conditions else rows.none()

    # Offered only when the query bar linked here.
    return list_filter("money", lazy("worth"), chosen(), keep)
