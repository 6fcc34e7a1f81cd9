"""Personal data, masked wherever the admin shows it, until somebody with the right asks for it.

A workflow declares which parts of its input are personal (``Workflow(personal=...)``).  What
stands there is masked in the input itself, in results, in the journal's details and, being known
then, in every text that repeats it: a fault, a reason.  Mail addresses are masked in any text.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models.fields.json import KeyTransform

from workers.definitions import registry
from workers.exceptions import UnknownWorkflow
from workers.models import Alert, Process, Step

#: Shown in place of what is left out.
STARS = "***"
#: The path of everything.
WHOLE = ""
MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
#: A shorter text would be found in others that have nothing to do with it.
SHORTEST = 3


def masked(text: str) -> str:
    """Return a personal text as ``a***@example.org`` or ``A***``."""
    name, at, domain = text.strip().rpartition("@")
    if at and MAIL.fullmatch(text.strip()):
        return f"{name[:1]}{STARS}@{domain}"
    return f"{text.strip()[:1]}{STARS}" if text.strip() else text


class Mask:
    """Masks documents by the paths of what is personal, and texts by what stood there."""

    def __init__(self, paths: Iterable[str] = (), documents: Sequence[Any] = ()) -> None:
        self._paths = frozenset(paths)
        words: set[str] = set()
        for document in documents:
            self._collect(document, (), is_personal=False, words=words)
        # The longest first: a name may begin an address.
        ordered = sorted(words, key=len, reverse=True)
        # A word of a longer one is none: "Ann" in "Annual".
        known = "|".join(re.escape(word) for word in ordered)
        self._words = re.compile(rf"(?<!\w)(?:{known})(?!\w)", re.IGNORECASE) if known else None

    def text(self, text: str) -> str:
        """Return a text with everything personal in it that is known as such masked."""
        if self._words is not None:
            text = self._words.sub(lambda match: masked(match[0]), text)
        return MAIL.sub(lambda match: masked(match[0]), text)

    def value(self, value: Any) -> Any:
        """Return a JSON value masked; what is no text or number keeps its shape."""
        return self._value(value, (), is_personal=False)

    def value_at(self, path: str, value: Any) -> Any:
        """Return the value at a dotted path of a document, masked."""
        return self._value(value, (path,), is_personal=False)

    def record(self, record: Any) -> Any:
        """Return a record of the engine's own masked: a fault, a question, a journal's detail.

        Of a document that is personal as a whole nothing but what was changed of it is there.
        """
        if WHOLE not in self._paths:
            return self.value(record)
        return Mask(["changes"])._value(self._spoken(record), (), is_personal=False)

    def _spoken(self, value: Any) -> Any:
        match value:
            case dict():
                return {key: self._spoken(one) for key, one in value.items()}
            case list():
                return [self._spoken(one) for one in value]
            case str():
                return self.text(value)
        return value

    def _value(self, value: Any, path: tuple[str, ...], *, is_personal: bool) -> Any:
        is_personal = is_personal or self._is_personal(path)
        match value:
            case dict():
                return {
                    key: self._value(one, (*path, str(key)), is_personal=is_personal)
                    for key, one in value.items()
                }
            case list():
                return [self._value(one, path, is_personal=is_personal) for one in value]
            case str():
                return masked(value) if is_personal else self.text(value)
            case bool() | None:
                return value
        return STARS if is_personal else value

    def _collect(
        self, value: Any, path: tuple[str, ...], *, is_personal: bool, words: set[str]
    ) -> None:
        is_personal = is_personal or self._is_personal(path)
        match value:
            case dict():
                for key, one in value.items():
                    place = (*path, str(key))
                    self._collect(one, place, is_personal=is_personal, words=words)
            case list():
                for one in value:
                    self._collect(one, path, is_personal=is_personal, words=words)
            case str() if is_personal:
                parts = {value.strip(), *(line.strip() for line in value.splitlines())}
                words.update(part for part in parts if len(part) >= SHORTEST)

    def _is_personal(self, path: tuple[str, ...]) -> bool:
        """Say whether a path has one that was declared in it: documents hold others' parts."""
        whole = f".{'.'.join(path)}."
        return WHOLE in self._paths or any(f".{one}." in whole for one in self._paths)


class Unmasked(Mask):
    """Leaves everything as it is: for who was shown it."""

    def text(self, text: str) -> str:
        return text

    def value(self, value: Any) -> Any:
        return value

    def value_at(self, path: str, value: Any) -> Any:
        return value

    def record(self, record: Any) -> Any:
        return record


UNMASKED = Unmasked()


#: Of what no workflow declares anything about: mail addresses are masked all the same.
UNKNOWN = Mask()


def of_process(process: Process) -> Mask:
    """Return the mask of a process, by its workflow; of one that this code has not, all of it."""
    paths = _paths(process.workflow, process.version)
    return Mask(paths, [process.input]) if paths else UNKNOWN


def of_processes(process_ids: Iterable[int | None]) -> dict[int | None, Mask]:
    """Return the masks of processes by their ids, in one query; of no process, ``UNKNOWN``.

    Of the inputs, which may be large, it reads what is personal; of those of workflows that this
    code has not, nothing.
    """
    masks = dict.fromkeys(process_ids, UNKNOWN)
    ids = [process_id for process_id in masks if process_id is not None]
    paths = sorted({path for workflow in registry.workflows() for path in workflow.personal})
    if not ids or not paths:
        return masks
    parts = {f"part_{place}": _part(path) for place, path in enumerate(paths)}
    rows = Process.objects.filter(pk__in=ids).values_list(
        "pk", "workflow", "version", *parts.values()
    )
    for pk, name, version, *values in rows:
        declared = _paths(name, version)
        known = [
            {path: value} for path, value in zip(paths, values, strict=True) if path in declared
        ]
        masks[pk] = Mask(declared, known)
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


def conceal(process: Process, mask: Mask) -> None:
    """Mask a process in memory, with its steps: for a page, never to be saved.

    What explains it afterwards repeats what its steps say, and is masked with them.
    """
    process.input = mask.value(process.input)
    process.lane = mask.text(process.lane)
    conceal_steps(process, mask)


def conceal_steps(process: Process, mask: Mask) -> None:
    """Mask the steps of a process in memory: for a page, never to be saved."""
    for step in process.steps.all():
        conceal_step(step, mask)


def conceal_step(step: Step, mask: Mask) -> None:
    """Mask a step in memory: for a page, never to be saved."""
    for record in (step.fault, step.deferral):
        # In place: the columns themselves are the store's to assign.
        if isinstance(record, dict):
            record.update(mask.record(record))


def conceal_alerts(alerts: Iterable[Alert]) -> dict[int | None, Mask]:
    """Mask the messages of alerts in memory: for a page, never to be saved.

    Returns the masks of their processes, for what else is shown of them.
    """
    alerts = list(alerts)
    masks = of_processes(alert.process_id for alert in alerts)
    for alert in alerts:
        alert.message = masks[alert.process_id].text(alert.message)
    return masks
