"""Corrections of a message before it is replayed.  Pure."""

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workers.http import strict_json

MISSING = object()
#: Paths of an order's values other than its lines.
TEXTS = (
    *("customer.name", "customer.email", "customer.address"),
    *("reference", "reply_to", "callback_url"),
)
KNOWN = {"": {"customer", "lines", "reference", "reply_to", "callback_url"}}
KNOWN["customer"] = {"name", "email", "address"}


@dataclass(frozen=True, slots=True)
class Correction:
    """The body and message id to read instead of the original ones."""

    body: bytes
    message_id: str


@dataclass(frozen=True, slots=True)
class Change:
    """One value before and after; ``MISSING`` if there is none."""

    path: str
    before: Any
    after: Any


def at(document: Any, path: str) -> Any:
    """Return the value at a dotted path; ``MISSING`` if there is none."""
    for name in path.split("."):
        document = document.get(name, MISSING) if isinstance(document, dict) else MISSING
    return document


def put(document: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with new values at dotted paths; ``MISSING`` removes one."""
    after: dict[str, Any] = copy.deepcopy(document)
    for path, value in values.items():
        *parents, name = path.split(".")
        parent = after
        for part in parents:
            if not isinstance(parent.get(part), dict):
                parent[part] = {}
            parent = parent[part]
        if value is MISSING:
            parent.pop(name, None)
        else:
            parent[name] = value
    return after


def unknown(document: Any) -> list[str]:
    """Return the paths of fields that no order has."""
    paths = []
    for above, names in KNOWN.items():
        part = at(document, above) if above else document
        if isinstance(part, dict):
            paths += [f"{above}.{name}".lstrip(".") for name in part if name not in names]
    return paths


def diff(before: Any, after: Any) -> list[Change]:
    """Return the differences between two documents, value by value, in the order of paths."""
    old, new = dict(_leaves(before)), dict(_leaves(after))
    return [
        Change(path, old.get(path, MISSING), new.get(path, MISSING))
        for path in dict.fromkeys([*old, *new])
        if _text(old.get(path, MISSING)) != _text(new.get(path, MISSING))
    ]


def diff_of_message(before: Any, after: Any, kept_id: str, message_id: str) -> list[Change]:
    """Return the differences between two messages; a body that is not JSON is one value."""
    if MISSING in (before, after) and before is not after:
        changes = [Change("", before, after)]
    else:
        changes = [] if before is MISSING else diff(before, after)
    if message_id != kept_id:
        changes.insert(0, Change("message_id", kept_id or MISSING, message_id or MISSING))
    return changes


def value_of(body: bytes) -> Any:
    """Return the JSON value of a body; ``MISSING`` if it is not strict JSON."""
    try:
        return strict_json.read(body)
    except strict_json.BadJson:
        return MISSING


def in_words(value: Any) -> str:
    """Return a value for people: a string as it is, anything else as JSON."""
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    parts: Iterator[tuple[Any, Any]] | None = None
    if isinstance(value, dict) and value:
        parts = iter(value.items())
    elif isinstance(value, list) and value:
        parts = iter(enumerate(value))
    if parts is None:
        yield path, value
        return
    for name, part in parts:
        yield from _leaves(part, f"{path}.{name}".lstrip("."))


def _text(value: Any) -> str:
    # Unlike ``==``, this tells 1, 1.0 and true apart.
    return "" if value is MISSING else json.dumps(value)


def lines_as_text(lines: Any) -> str:
    """Return an order's lines for editing, each as its sku and quantity; else as JSON."""
    if lines is MISSING:
        return ""
    rows = []
    for line in lines if isinstance(lines, list) else [None]:
        if not isinstance(line, dict) or set(line) != {"sku", "quantity"}:
            return json.dumps(lines, ensure_ascii=False, indent=2)
        sku, quantity = line["sku"], line["quantity"]
        if not isinstance(sku, str) or len(sku.split()) != 1 or type(quantity) is not int:
            return json.dumps(lines, ensure_ascii=False, indent=2)
        rows.append(f"{sku} {quantity}")
    return "\n".join(rows)


def lines_of_text(text: str) -> Any:
    """Parse edited lines; raise ``ValueError`` with the line that is wrong."""
    if text.lstrip()[:1] in ("[", "{", '"'):
        return json.loads(text)
    lines = []
    for row in filter(None, map(str.strip, text.splitlines())):
        sku, _, quantity = row.rpartition(" ")
        if not sku or not (quantity.isascii() and quantity.isdecimal() and len(quantity) < 10):
            raise ValueError(row)
        lines.append({"sku": sku.strip(), "quantity": int(quantity)})
    return lines
