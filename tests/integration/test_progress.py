"""What is said of a new process from memory is what its rows say."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from workers.client import progress
from workers.client.submission import submit
from workers.definitions import registry
from workers.models import Process

NAMES = sorted({workflow.name for workflow in registry.workflows()})


@pytest.mark.parametrize("name", NAMES)
def test_a_new_process_stands_where_its_rows_say(name, wire):
    known = registry.workflow(name).attributes
    limited_by = {by: kind(7) for by, kind in known.items() if by in ("customer", "plan")}
    given = {"total": "5000.00", "is_wanted": True, "n": 1}
    made = submit(name, subject="A", input=given, attributes=limited_by)

    rows = Process.objects.prefetch_related("steps").get(pk=made.pk)
    found = progress.of_submitted(made)

    assert found.steps
    expected = progress.of(rows, made.created_at)
    if _is_judged(name):
        # It was read with what is known of the whole system.
        assert [step.state for step in found.steps] == [step.state for step in expected.steps]
    else:
        assert found == expected


def _is_judged(name: str) -> bool:
    first = [spec for spec in registry.workflow(name).steps if not spec.after]
    return any(spec.is_judged for spec in first)


def test_nothing_is_read_for_it(wire):
    # A process reads the specs of a workflow once.
    progress.of_submitted(submit("toy_line", subject="A", input={}))
    made = submit("toy_line", subject="B", input={})
    with CaptureQueriesContext(connection) as captured:
        progress.of_submitted(made)
    assert list(captured) == []
