"""Columns are listed by the models, and rules may change what is not as it was made."""

from dataclasses import fields

import pytest

from tests.factories import a_spec
from workers.exceptions import MissingSpec
from workers.models import Process, Spec, Step, spec
from workers.rules.rows import ProcessRow, StepRow
from workers.store.db.columns import columns_of
from workers.store.locked import save

#: Asked of the row beside its columns, or read by what a column names.
ASKED = {"is_told", "is_filed", "spec"}


def test_every_field_of_a_row_in_memory_is_a_column():
    assert {field.name for field in fields(StepRow)} - ASKED <= set(columns_of(Step))
    assert {field.name for field in fields(ProcessRow)} - ASKED <= set(columns_of(Process))


def test_what_is_as_it_was_made_names_fields_only():
    names = {field.name for row in (StepRow, ProcessRow) for field in fields(row)}

    assert names >= save._NEVER_UPDATED
    assert {"state", "fault", "not_before", "deferral"} <= set(save.STEP_COLUMNS)
    assert {"state", "sequence", "deadline_at"} <= set(save.PROCESS_COLUMNS)


def test_a_kind_is_known_of_every_column_of_processes_and_steps():
    kinds = {**columns_of(Process), **columns_of(Step)}

    assert len(kinds) > 50
    assert kinds["undoes_id"] == kinds["process_id"] == "id"
    assert (kinds["fault"], kinds["claim_id"], kinds["not_before"]) == ("json", "uuid", "instant")


@pytest.mark.django_db
def test_specs_are_read_again_once_too_many_are_kept(monkeypatch):
    first, second = a_spec(timeout_seconds=1001), a_spec(timeout_seconds=1002)
    monkeypatch.setattr(spec, "_known", {})
    monkeypatch.setattr(spec, "MOST", 0)

    assert Spec.of([first])[first].timeout_seconds == 1001
    # One of them is kept, and the other is one too many.
    found = Spec.of([first, second])

    assert [found[digest].timeout_seconds for digest in (first, second)] == [1001, 1002]


@pytest.mark.django_db
def test_a_spec_that_no_row_has_is_named(monkeypatch):
    monkeypatch.setattr(spec, "_known", {})

    with pytest.raises(MissingSpec, match=r"got none for \[7\]"):
        Spec.of([7, a_spec()])
