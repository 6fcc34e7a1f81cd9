"""Masks of processes: the values that their workflows declare personal."""

from collections.abc import Iterable
from typing import Any

from django.db.models.fields.json import KeyTransform

from workers.definitions import registry
from workers.exceptions import UnknownWorkflow
from workers.models import Attribute, Process
from workers.rules import attributes
from workers.rules.masks import UNKNOWN, WHOLE, Mask


def of_process(process: Process) -> Mask:
    """Return the mask of a process; if this code lacks its workflow, everything is personal."""
    paths = _paths(process.workflow, process.version)
    if not paths:
        return UNKNOWN
    named = _attributes([(process.pk, process.workflow)])
    return Mask(paths, [process.input, named.get(process.pk)])


def of_processes(process_ids: Iterable[int | None]) -> dict[int | None, Mask]:
    """Return the masks of processes by id, in one query; for None, ``UNKNOWN``.

    Reads only the personal parts of the inputs, which may be large, and nothing of workflows that
    this code lacks; one query more if a workflow of them declares attributes personal.
    """
    masks = dict.fromkeys(process_ids, UNKNOWN)
    ids = [process_id for process_id in masks if process_id is not None]
    paths = sorted({path for workflow in registry.workflows() for path in workflow.personal})
    if not ids or not paths:
        return masks
    parts = {f"part_{index}": _part(path) for index, path in enumerate(paths)}
    found = Process.objects.filter(pk__in=ids)
    rows = list(found.values_list("pk", "workflow", "version", *parts.values()))
    named = _attributes([row[:2] for row in rows])
    for pk, name, version, *values in rows:
        declared = _paths(name, version)
        personal = [
            {path: value} for path, value in zip(paths, values, strict=True) if path in declared
        ]
        masks[pk] = Mask(declared, [*personal, named.get(pk)])
    return masks


def _attributes(processes: Iterable[tuple[int, str]]) -> dict[int, dict[str, Any]]:
    """Return the personal attributes of processes, given with their workflows, as documents."""
    names = {
        workflow.name: attributes.personal([workflow])
        for workflow in registry.workflows()
        if workflow.attributes
    }
    ids = [process_id for process_id, workflow in processes if names.get(workflow)]
    texts: dict[int, dict[str, str]] = {}
    if ids:
        rows = Attribute.objects.filter(process_id__in=ids, name__in=set().union(*names.values()))
        for process_id, name, value in rows.values_list("process_id", "name", "value"):
            texts.setdefault(process_id, {})[name] = value
    return {process_id: attributes.document(values) for process_id, values in texts.items()}


def _paths(name: str, version: int) -> tuple[str, ...]:
    try:
        return registry.workflow(name, version).personal
    except UnknownWorkflow:
        return (WHOLE,)


def _part(path: str) -> Any:
    part: Any = "input"
    for key in path.split("."):
        part = KeyTransform(key, part)
    return part
