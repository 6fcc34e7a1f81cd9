"""Attributes of processes as they are kept, and the processes that have them."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

from workers.definitions import registry
from workers.models import Attribute, Process


def of_processes(processes: Iterable[Process]) -> dict[int, dict[str, str]]:
    """Return the texts by process and name; nothing is read where workflows declare none."""
    texts: dict[int, dict[str, str]] = {process.pk: {} for process in processes if _may(process)}
    if texts:
        rows = Attribute.objects.filter(process__in=texts).order_by("process", "name")
        for process_id, name, value in rows.values_list("process_id", "name", "value"):
            texts[process_id][name] = value
    return texts


def _may(process: Process) -> bool:
    name, version = process.workflow, process.version
    return not registry.has_workflow(name, version) or bool(
        registry.workflow(name, version).attributes
    )


def having(rows: QuerySet[Any], path: str, texts: Mapping[str, str]) -> QuerySet[Any]:
    """Keep the rows whose process, behind ``path``, has all of these attributes."""
    for name, value in texts.items():
        # A join and no subquery: its index has the processes in the order of lists.
        rows = rows.filter(**{f"{path}attributes__name": name, f"{path}attributes__value": value})
    return rows
