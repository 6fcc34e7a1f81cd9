"""Sees to it, in every test, that the product writes nothing outside a failpoint."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import local
from types import FrameType
from typing import Any

from django.db import connection

from tests.guard.failpoints import LEFT_OUT
from tests.programs import ROOT
from workers.runtime import failpoints

_PRODUCT = tuple(f"{ROOT / top}/" for top in ("workers", "orders", "sasproject"))
#: They write for others, or hand on what others do.
_CARRIERS = tuple(
    str(ROOT / name)
    for name in (
        "workers/store/db/dialect.py",
        "workers/runtime/failpoints.py",
        "workers/desk/admin/middleware.py",
        "workers/views/probes.py",
        "workers/ops/metrics/view.py",
        "sasproject/access_log.py",
        "sasproject/middleware.py",
    )
)


class Depth(local):
    """How many points the present thread stands in."""

    def __init__(self) -> None:
        self.count = 0

    def enter(self, name: str) -> None:
        self.count += 1

    def reach(self, point: str) -> None: ...

    def leave(self, name: str) -> None:
        self.count -= 1


class UnnamedWrite(AssertionError):
    """The product wrote something that outlives it, and no failpoint is there."""


@contextmanager
def every_write_is_named() -> Iterator[None]:
    """Raise ``UnnamedWrite`` where product code writes its own tables outside a point."""
    depth = Depth()

    def look(execute: Callable[..., Any], text: Any, *rest: Any) -> Any:
        if failpoints.witness is depth and not depth.count and _is_write(str(text)):
            where = _writer()
            if where:
                raise UnnamedWrite(f"{where} writes outside a failpoint: {str(text)[:200]}")
        return execute(text, *rest)

    before, failpoints.witness = failpoints.witness, depth
    try:
        with connection.execute_wrapper(look):
            yield
    finally:
        failpoints.witness = before


def _is_write(text: str) -> bool:
    return text.lstrip().startswith(("INSERT", "UPDATE", "DELETE", "WITH")) and any(
        f"{verb} {quote}{app}" in text
        for verb in ("INTO", "UPDATE", "FROM")
        for quote in ("", '"')
        for app in ("workers_", "desk_", "orders_")
        if verb != "FROM" or text.lstrip().startswith("DELETE")
    )


def _writer() -> str:
    """Return where in the product a statement comes from; empty: from a test."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(str(ROOT)) and "site-packages" not in path:
            is_carrier = path.startswith(_CARRIERS) or path == __file__
            if not is_carrier:
                is_product = path.startswith(_PRODUCT) and not set(LEFT_OUT) & set(Path(path).parts)
                return f"{path}:{frame.f_lineno}" if is_product else ""
        frame = frame.f_back
    return ""
