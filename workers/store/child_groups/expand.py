"""Expand a child group: write a row for each item, in portions."""

from collections.abc import Sequence
from typing import Any

from workers.store.child_groups import groups
from workers.store.child_groups.groups import PORTION
from workers.store.db import dialect
from workers.store.db.transactions import durable


def expand(group_id: int, items: Sequence[dict[str, Any]]) -> bool:
    """Write the rows that are still missing.  False: the group was stopped meanwhile.

    Each portion is written with how far it goes, so a crash repeats nothing.
    """
    while True:
        with durable("child_groups.expand"):
            group = groups.lock(group_id)
            if group is None or group.stopped:
                return False
            begin, group.total = group.expanded_to, len(items)
            portion = items[begin : begin + PORTION]
            _insert(group_id, begin, portion)
            group.expanded_to = begin + len(portion)
            groups.write(group, is_flagged=True)
        if group.is_expanded:
            return True


def _insert(group_id: int, begin: int, portion: Sequence[dict[str, Any]]) -> None:
    if not portion:
        return
    rows = [{"number": begin + i, "item": item} for i, item in enumerate(portion)]
    source = dialect.rows_as("v", {"number": "int", "item": "json"})
    dialect.execute(
        'INSERT INTO workers_child (group_id, "index", item, state)'
        f" SELECT %s, v.number, v.item, 'queued' FROM {source} ORDER BY v.number",
        [group_id, dialect.encode(rows, ["item"])],
    )
