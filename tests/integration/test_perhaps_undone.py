"""After a restore, what is done may have been undone since: noted, kept, and told at the end."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import put
from tests.integration.conftest import NOW, only, reread, rows
from tests.toyflow import agents as toy
from workers.client import operations
from workers.client.submission import submit
from workers.models import Alert, Journal, Process, Spec, Step
from workers.rules.evidence import MAY_BE_UNDONE
from workers.store.operate import after_restore

LATER = NOW + timedelta(minutes=5)
FAULT = MAY_BE_UNDONE.noted(LATER).to_json()


def restore(process: Process) -> int:
    return after_restore.mark([process.pk], NOW, actor="ann", now=LATER)


def steps(process: Process) -> dict[str, dict[str, Any]]:
    """Return the columns of steps, and their undo instead of their spec."""
    rows = {}
    for row in Step.objects.filter(process=process).values():
        undo = Spec.of([digest := row.pop("spec_digest")])[digest].undo
        rows[row["name"]] = row | {"undo": undo and dict(undo)}
    return rows


def noted(process: Process) -> dict[str, Any]:
    """Return what the journal says of the restore."""
    detail: dict[str, Any] = Journal.objects.get(
        process=process, event="restored", step=None
    ).detail
    return detail


@pytest.fixture
def halfway() -> Process:
    """Make a process of which `top` and `left` are done, and `right` is queued."""
    process = submit("toy_undoable", subject="Toy 1", input={}, now=NOW)
    Process.objects.update(state="processing")
    of_it = Step.objects.filter(process=process)
    of_it.filter(name__in=["top", "left"]).update(
        state="processed",
        attempt=1,
        result={},
        may_have_effect=True,
        key_used_at=NOW,
        finished_at=NOW,
    )
    of_it.filter(name="right").update(state="pending", not_before=LATER)
    # So that the whole process can begin again.
    put(of_it.filter(name="mail"), effect="none")
    process.refresh_from_db()
    return process


def test_what_an_agent_wrote_into_this_database_is_as_the_rows_say(halfway):
    after_restore.mark([halfway.pk], NOW, actor="ann", now=LATER, local={"toy.alpha"})

    assert noted(halfway)["may_be_undone"] == ["left"]
    found = steps(halfway)
    assert [found[name]["is_in_doubt"] for name in ("top", "left")] == [False, True]


@pytest.mark.parametrize("state", ["processing", "error"])
def test_what_is_done_is_noted_and_stays_done(halfway, state):
    Process.objects.update(state=state)
    if state == "error":
        Step.objects.filter(name="right").update(state="error", not_before=None)
    expected = steps(halfway)
    for name in ("top", "left"):
        expected[name] |= {"is_in_doubt": True, "fault": FAULT}
    for name in ("top", "left", "right", "bottom", "mail"):
        if expected[name]["undo"] is not None:
            expected[name]["undo"]["is_lost"] = True
    for name in ("right", "bottom"):
        expected[name] |= {"may_have_effect": True, "is_in_doubt": True, "key_used_at": NOW}

    # Those that may have run: what is done is not counted among them.
    assert restore(halfway) == 2

    assert steps(halfway) == expected
    assert noted(halfway) == {
        "since": NOW.isoformat(),
        "in_doubt": ["right", "bottom"],
        "may_be_undone": ["top", "left"],
    }
    assert reread(halfway).state == state
    assert not Alert.objects.exists()


def restore_without_a_note(halfway: Process) -> None:
    before = steps(halfway)
    restore(halfway)
    after = steps(halfway)
    for name in ("top", "left"):
        assert after[name] | {"undo": before[name]["undo"]} == before[name]
    assert "may_be_undone" not in noted(halfway)


def test_what_nothing_undoes_is_not_noted(halfway):
    put(Step.objects.filter(name="top"), undo=None)
    Step.objects.filter(name="left").update(may_have_effect=False)
    restore_without_a_note(halfway)


def test_a_process_that_ends_on_it_tells_an_operator(halfway, wire):
    restore(halfway)
    wire.run_until_idle()

    assert reread(halfway).state == "processed"
    # Done once, and not again because of the restore.
    assert (toy.calls["toy.alpha"], toy.calls["toy.beta"]) == ([], [])
    alert = Alert.objects.get(code="ended_in_doubt")
    # Also what was open then: its service may have repeated an answer, and undone it since.
    assert alert.process_id == halfway.pk
    assert alert.params["steps"] == ["top", "left", "right", "bottom"]
    assert only(halfway, "top").fault == FAULT


def test_a_process_that_is_undone_after_it_asks_its_undo_and_tells_nobody(halfway, wire):
    keys = [only(halfway, name).idempotency_key for name in ("left", "top")]
    restore(halfway)
    operations.undo(halfway.pk, outcome="cancelled", actor="ann", reason="")
    wire.run_until_idle()

    assert reread(halfway).state == "cancelled"
    undone = [call for call in toy.undone if call[0] in ("undo_left", "undo_top")]
    assert undone == [("undo_left", keys[0]), ("undo_top", keys[1])]
    assert toy.calls["toy.undoer"][-1] == f"{keys[1]}:undo"
    assert not Alert.objects.filter(code="ended_in_doubt").exists()


def test_what_is_done_anew_after_it_is_perhaps_undone(halfway, wire):
    restore(halfway)
    operations.begin_again(halfway.pk, "top", actor="ann", reason="")
    wire.run_until_idle()

    assert reread(halfway).state == "processed"
    found = [only(halfway, name) for name in ("top", "left")]
    assert [step.idempotency_key[-2:] for step in found] == [":2", ":2"]
    assert [step.fault and step.fault["code"] for step in found] == ["may_be_undone"] * 2
    alert = Alert.objects.get(code="ended_in_doubt")
    assert alert.params["steps"] == ["top", "left", "right", "bottom"]


def test_what_is_being_undone_anyway_is_not_noted(halfway):
    operations.undo(halfway.pk, outcome="cancelled", actor="ann", reason="", now=NOW)
    restore_without_a_note(halfway)


def test_what_stays_while_another_step_begins_again_is_noted(halfway, wire):
    operations.begin_again(halfway.pk, "left", actor="ann", reason="", now=NOW)
    before = steps(halfway)

    restore(halfway)

    after = steps(halfway)
    undo = before["top"]["undo"] | {"is_lost": True}
    assert after["top"] == before["top"] | {"is_in_doubt": True, "fault": FAULT, "undo": undo}
    # Its own undo says what became of it.
    undo = before["left"]["undo"] | {"is_lost": True}
    assert after["left"] == before["left"] | {"undo": undo}
    assert noted(halfway)["may_be_undone"] == ["top"]

    wire.run_until_idle()
    assert reread(halfway).state == "processed"
    alert = Alert.objects.get(code="ended_in_doubt")
    assert alert.params["steps"] == ["top", "left", "right", "bottom"]


def test_what_has_ended_is_left_alone(halfway):
    Step.objects.exclude(name__in=["top", "left"]).update(state="skipped", not_before=None)
    Process.objects.update(state="processed", finished_at=NOW)
    before = rows()

    assert restore(halfway) == 0

    assert rows() == before
    assert not Alert.objects.exists()
