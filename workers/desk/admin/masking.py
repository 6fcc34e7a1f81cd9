"""Personal data, masked wherever the admin shows it, until a user with the right asks for it.

Rows are masked in memory, after they are read and before anything is derived from them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from django.db.models import Model

from workers.desk.texts import alert_texts
from workers.models import Act, Alert, Process, Step
from workers.rules.masks import STARS, UNKNOWN, UNMASKED, Mask, masked
from workers.store.personal_data import of_process, of_processes

M = TypeVar("M", bound=Model)

#: An application's own pages mask with these, too.
__all__ = [
    "STARS",
    "UNKNOWN",
    "UNMASKED",
    "Mask",
    "masked",
    "of_process",
    "of_processes",
]

#: Takes ids of an application's own rows; returns the masks of those that are there.
_finders: dict[str, Callable[[set[int]], dict[int, Mask]]] = {}


def register_masks(name: str, finder: Callable[[set[int]], dict[int, Mask]]) -> None:
    """Mask acts whose detail names a row by ``name`` as that row's own page does."""
    _finders[name] = finder


def of_named(acts: Sequence[Act]) -> dict[str, dict[int, Mask]]:
    """Return the masks of the rows that acts name, by the key in the detail and their ids."""
    return {
        name: finder({act.detail[name] for act in acts if name in act.detail})
        for name, finder in _finders.items()
    }


def conceal(process: Process, mask: Mask) -> None:
    """Mask a process in memory, with its steps: for a page, never to be saved.

    Explanations made afterwards repeat what its steps say, and are masked with them.
    """
    process.input = mask.value(process.input)
    process.lane = mask.text(process.lane)
    process.submission_key = mask.text(process.submission_key or "")
    conceal_steps(process, mask)


def conceal_steps(process: Process, mask: Mask) -> None:
    """Mask the steps of a process in memory: for a page, never to be saved."""
    for step in process.steps.all():
        conceal_step(step, mask)


def conceal_step(step: Step, mask: Mask) -> None:
    """Mask a step in memory: for a page, never to be saved."""
    for record in (step.fault, step.deferral):
        # In place: only the store assigns the columns themselves.
        if isinstance(record, dict):
            record.update(mask.record(record))


def conceal_words(rows: Iterable[M], *columns: str) -> list[M]:
    """Mask in memory what people wrote outside any process: for a page, never to be saved.

    Whom the texts are about is unknown: mail addresses are masked.  Returns the rows.
    """
    rows = list(rows)
    for row in rows:
        for column in columns:
            setattr(row, column, UNKNOWN.text(getattr(row, column)))
    return rows


def conceal_alerts(alerts: Iterable[Alert]) -> dict[int | None, Mask]:
    """Put alerts into words, masked, in memory: for a page, never to be saved.

    Returns the masks of their processes, for what else is shown of them.
    """
    alerts = list(alerts)
    masks = of_processes(alert.process_id for alert in alerts)
    for alert in alerts:
        text = alert_texts.message(alert.code, alert.params, alert.message)
        alert.message = masks[alert.process_id].text(text)
        alert.comment = masks[alert.process_id].text(alert.comment)
    return masks
