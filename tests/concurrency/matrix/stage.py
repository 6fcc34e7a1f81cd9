"""The rows of engine and desk: kept, put back exactly, and looked at without what is random."""

import json
from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.db import transaction

from workers.definitions.children import CHILDREN
from workers.store.db import dialect

#: What differs from run to run and decides nothing.  Turns are reckoned without a lock: of two
#: submissions at once neither counts the other.
_RANDOM = {"id", "uid", "at", "raised_at", "last_raised_at", "idempotency_key", "detail", "turn"}
#: Whether these are set is what matters: a new uuid each time, or full jitter.
_IF_SET = {"claim_id", "delivery", "not_before", "fault"}

Rows = Mapping[str, str]
Picture = dict[str, list[dict[str, Any]]]


def _tables() -> list[str]:
    found = [
        model._meta.db_table
        for app in ("workers", "desk")
        for model in apps.get_app_config(app).get_models()
    ]
    # Behind the steps, whose triggers write there, too.
    return sorted(found, key="workers_live".__eq__)


def kept() -> Rows:
    """Return every row of our tables, as JSON by table."""
    tables = _tables()
    columns = ", ".join(
        f"(SELECT coalesce(jsonb_agg(t ORDER BY t), '[]')::text FROM {table} t)" for table in tables
    )
    return dict(zip(tables, dialect.fetch(f"SELECT {columns}")[0], strict=True))


def put_back(rows: Rows) -> None:
    """Make the tables what they were: those alone that differ, for a verb writes to few."""
    now = kept()
    changed = {table for table in rows if now[table] != rows[table]}
    if "workers_step" in changed:
        # The triggers of the steps write there.
        changed.add("workers_live")
    with transaction.atomic(), dialect.pipelined():
        for table in (table for table in rows if table in changed):
            dialect.execute(f"DELETE FROM {table}")
            if rows[table] != "[]":
                made = f"jsonb_populate_recordset(NULL::{table}, %s)"
                dialect.execute(f"INSERT INTO {table} SELECT * FROM {made}", [rows[table]])


def picture(rows: Rows) -> Picture:
    """Return rows without what is random, in an order that does not depend on it."""
    found = {table: json.loads(text) for table, text in rows.items()}
    names = {
        "process_id": {row["id"]: row["subject"] for row in found["workers_process"]},
        "step_id": {row["id"]: row["name"] for row in found["workers_step"]},
        "incident_id": {row["id"]: row["key"] for row in found["desk_incident"]},
    }
    names["job_id"] = {row["id"]: row["actor"] for row in found["desk_bulkjob"]}
    names["undoes_id"] = names["step_id"]
    names["group_id"] = names["incident_id"]
    return {
        table: sorted((_plain(row, names) for row in table_rows), key=json.dumps)
        for table, table_rows in found.items()
    }


def _plain(row: dict[str, Any], names: dict[str, dict[int, str]]) -> dict[str, Any]:
    plain = {key: value for key, value in row.items() if key not in _RANDOM}
    for key in _IF_SET & set(plain):
        plain[key] = plain[key] is not None
    if plain.get("deferral"):
        # A row of its own, which is among the others.
        plain["deferral"] = {**plain["deferral"], "group": "group" in plain["deferral"]}
    for key in set(names) & set(plain):
        plain[key] = names[key].get(plain[key])
    return plain


def difference(one: Picture, other: Picture) -> list[str]:
    """Say what one picture has and the other has not."""
    found = []
    for table in one:
        mine, others = ([json.dumps(row, sort_keys=True) for row in p[table]] for p in (one, other))
        for row in mine:
            if row in others:
                others.remove(row)
            else:
                found.append(f"{table} + {row}")
        found += [f"{table} - {row}" for row in others]
    return found


def claims_of(rows: Rows) -> set[str]:
    """Return the claims that rows hold, as hex; no agent is sent that of a list of children."""
    return {
        row["claim_id"].replace("-", "")
        for row in json.loads(rows["workers_step"])
        if row["claim_id"] is not None and row["agent"] != CHILDREN
    }
