"""Child groups that are cancelled, undone, paused, or begun again with their parent."""

from collections import Counter

from tests.fleets import BY, born, fails, fleet, state_of, step_of
from tests.toyflow import agents as toy
from workers import Permanent, Refused, pause, resubmit, resume, scheduler, submit
from workers.client import operations
from workers.models import ChildGroup, Process
from workers.testing import assert_invariants


def rounds(wire, count):
    """Look, and deliver one message, so often: some children have begun by then."""
    for _ in range(count):
        scheduler.advance()
        if wire.messages:
            wire.deliver(wire.messages[0])


def test_cancel_stops_births_cancels_the_open_and_undoes_the_processed(wire, clock):
    fails(2, fault=Permanent("broken", "it is broken"))
    process = fleet(9)
    wire.run_until_settled(clock)
    toy.script.pop("toy.alpha")
    operations.cancel(process.pk, **BY)
    wire.run_until_settled(clock)

    assert state_of(process) == "cancelled"
    states = Counter(born().values_list("state", flat=True))
    assert states == {"compensated": 8, "cancelled": 1}
    # That of the broken one looks whether its call had an effect.
    assert len(toy.undone) == 9 + 1
    assert (step_of(process).state, step_of(process, "undo_each").state) == (
        "compensated",
        "processed",
    )
    assert_invariants()


def test_cancel_in_the_middle_leaves_the_queued_unborn(wire, clock):
    process = fleet(50)
    rounds(wire, 8)
    assert 0 < born().count() < 50
    operations.cancel(process.pk, **BY)
    count = born().count()
    wire.run_until_settled(clock)

    assert born().count() == count
    assert state_of(process) == "cancelled"
    assert not born().exclude(state__in=["cancelled", "compensated"]).exists()
    assert_invariants()


def test_undo_has_the_bound_of_the_births(wire, clock):
    process = fleet(10)
    toy.script["toy.gamma"] = refuse
    most = []

    def undo(call):
        most.append(born().filter(state="compensating").count())
        return {"undone": True}

    toy.script["toy.undoer"] = undo
    wire.run_until_settled(clock)

    assert state_of(process) == "compensated"
    # That of the parent's own step comes last.
    assert len(most) == 10 + 1
    assert max(most) <= 3
    assert Counter(born().values_list("state", flat=True)) == {"compensated": 10}
    assert step_of(process, "undo_each").result == {"compensated": 10}
    assert_invariants()


def test_undo_of_the_parent_goes_down_two_levels(wire, clock):
    items = [{"items": [{"number": n} for n in range(2)]} for _ in range(3)]
    fails(1, fault=Permanent("broken", "it is broken"))
    process = submit("toy_levels", subject="Deep", input={"items": items})
    wire.run_until_settled(clock)
    operations.cancel(process.pk, **BY)
    wire.run_until_settled(clock)

    assert state_of(process) == "cancelled"
    assert set(born().values_list("state", flat=True)) <= {"cancelled", "compensated"}
    assert_invariants()


def test_pause_goes_down_and_resume_comes_after(wire, clock):
    fails(0, 1, 2, fault=Permanent("broken", "it is broken"))
    process = fleet()
    wire.run_until_settled(clock)
    pause(process.pk, **BY)
    wire.run_until_idle()
    assert born().filter(paused_at__isnull=False).count() == 3
    resume(process.pk, **BY)
    wire.run_until_idle()
    assert not born().filter(paused_at__isnull=False).exists()
    fails()
    for child in born():
        resubmit(child.pk, **BY)
    wire.run_until_settled(clock)
    assert step_of(process).result["processed"] == 7


def test_paused_parent_bears_no_more(wire, clock):
    process = fleet(20)
    rounds(wire, 8)
    pause(process.pk, **BY)
    wire.run_until_settled(clock)
    count = born().count()
    assert count < 20
    resume(process.pk, **BY)
    wire.run_until_settled(clock)
    assert step_of(process).result["processed"] == 20


def test_begin_again_at_the_step_keeps_processed_children(wire, clock):
    fails(1)
    process = fleet(10, "toy_tolerant_fleet")
    toy.script["toy.gamma"] = lambda call: broken()
    wire.run_until_settled(clock)
    assert step_of(process).result["failed"] == 1
    kept = set(born().filter(state="processed"))
    toy.script.clear()
    operations.begin_again(process.pk, "each", **BY)
    wire.run_until_settled(clock)

    assert state_of(process) == "processed"
    assert (step_of(process).result["processed"], born().count()) == (10, 11)
    assert kept < set(born().filter(state="processed"))
    assert_invariants()


def test_begin_again_from_an_earlier_step_undoes_the_children(wire, clock):
    process = fleet(4)
    toy.script["toy.gamma"] = lambda call: broken()
    wire.run_until_settled(clock)
    toy.script.clear()
    operations.begin_again(process.pk, "split", **BY)
    wire.run_until_settled(clock)

    assert state_of(process) == "processed"
    assert Counter(born().values_list("state", flat=True)) == {"compensated": 4, "processed": 4}
    assert ChildGroup.objects.count() == 2
    assert_invariants()


def test_child_past_its_point_of_no_return_stays(wire, clock):
    process = fleet(3)
    wire.run_until_idle()
    toy.script["toy.gamma"] = refuse
    process = fleet(3)
    Process.objects.filter(group__isnull=False)
    no_return_for = {"no_return": ["make"]}
    rounds(wire, 12)
    born().filter(subject="Fleet/1").update(**no_return_for)
    wire.run_until_settled(clock)

    assert state_of(process) == "compensated"
    assert step_of(process, "undo_each").result == {"compensated": 2, "lasting": 1}
    assert_invariants()


def broken():
    raise Permanent("broken", "it is broken")


def refuse(call):
    raise Refused("no", "the business said no")
