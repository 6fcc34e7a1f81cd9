"""Masks of processes: the values that their workflows declare personal, from their inputs."""

from collections.abc import Iterable
from typing import Any

from django.db.models.fields.json import KeyTransform

from workers.definitions import registry
from workers.exceptions import UnknownWorkflow
from workers.models import Process
from workers.rules.masks import UNKNOWN, WHOLE, Mask


def of_process(process: Process) -> Mask:
    """Return the mask of a process; if this code lacks its workflow, everything is personal."""
    paths = _paths(process.workflow, process.version)
    return Mask(paths, [process.input]) if paths else UNKNOWN


def of_processes(process_ids: Iterable[int | None]) -> dict[int | None, Mask]:
    """Return the masks of processes by id, in one query; for None, ``UNKNOWN``.

    Reads only the personal parts of the inputs, which may be large, and nothing of workflows that
    this code lacks.
    """
    masks = dict.fromkeys(process_ids, UNKNOWN)
    ids = [process_id for process_id in masks if process_id is not None]
    paths = sorted({path for workflow in registry.workflows() for path in workflow.personal})
    if not ids or not paths:
        return masks
    parts = {f"part_{index}": _part(path) for index, path in enumerate(paths)}
    rows = Process.objects.filter(pk__in=ids).values_list(
        "pk", "workflow", "version", *parts.values()
    )
    for pk, name, version, *values in rows:
        declared = _paths(name, version)
        personal = [
            {path: value} for path, value in zip(paths, values, strict=True) if path in declared
        ]
        masks[pk] = Mask(declared, personal)
    return masks


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
