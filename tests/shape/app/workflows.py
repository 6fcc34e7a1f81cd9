"""Renewals, one at a time for each customer; seasons of films of files."""

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from workers import Children, Schedule, Workflow, register_schedule, register_workflow, step

SECONDS = 3
FILMS, FILES = 3, 8
AT_ONCE = 5
CUSTOMERS = int(os.environ.get("SHAPE_CUSTOMERS", "12"))
#: A nightly run begins this often.
EVERY = timedelta(seconds=max(10, CUSTOMERS // 50))


def month(at: datetime) -> dict[str, Any]:
    """Return the input of a nightly run: which month it is about."""
    return {"month": at.isoformat(), "customers": CUSTOMERS}


def _films(given: Any, results: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**given, "film": film} for film in range(FILMS)]


def _files(given: Any, results: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**given, "what": f"{given['season']}/{given['film']}/{n}"} for n in range(FILES)]


def _told(given: Any, results: Mapping[str, Any]) -> dict[str, Any]:
    return {"what": f"{given['season']} is done"}


register_workflow(
    Workflow(
        "shape_nightly",
        1,
        (step("renew", "shape.renew", timeout_seconds=60, failure_threshold=50),),
    )
)
register_workflow(
    Workflow(
        "shape_renewal",
        1,
        (
            step("charge", "shape.charge", timeout_seconds=SECONDS, failure_threshold=50),
            step(
                "mail", "shape.mail", after="charge", timeout_seconds=SECONDS, failure_threshold=50
            ),
        ),
        attributes={"customer": int},
        exclusive="customer",
    )
)
register_workflow(
    Workflow(
        "shape_season",
        1,
        (
            step("films", children=Children("shape_film", _films, at_once=2)),
            step(
                "tell",
                "shape.mail",
                after="films",
                request=_told,
                timeout_seconds=SECONDS,
                failure_threshold=50,
            ),
        ),
        attributes={"studio": int},
    )
)
register_workflow(
    Workflow(
        "shape_film",
        1,
        (step("files", children=Children("shape_file", _files, at_once=AT_ONCE)),),
        attributes={"studio": int},
    )
)
register_workflow(
    Workflow(
        "shape_file",
        1,
        (step("render", "shape.render", timeout_seconds=SECONDS, failure_threshold=50),),
        attributes={"studio": int},
    )
)
register_schedule(Schedule("nightly", "shape_nightly", every=EVERY, overlap="both", input=month))
