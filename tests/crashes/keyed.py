"""Submission keys: one process of a key, and one left of those that replace each other."""

from tests.crashes.scenario import Scenario, services
from workers import NewProcess, NewSink, submit, submit_many
from workers.models import Journal, Process
from workers.testing import Aftermath, Wire


def _submit() -> None:
    """Submit as a client does that repeats itself: without a look at what is there."""
    submit(
        "toy_line",
        subject="Toy 1",
        input={},
        submission_key="cart-3",
        key_for=None,
        sinks=(NewSink("queue", "replies.acme.one"),),
    )


def _one_of_all(after: Aftermath) -> None:
    process = Process.objects.get()
    assert (process.state, process.key_use) == ("processed", 1)
    assert Journal.objects.filter(event="submitted").count() == 1
    assert set(services().count().values()) <= {0, 1}
    after.assert_told_everything()


def _first(wire: Wire) -> None:
    submit("toy_line", subject="First", input={}, submission_key="cart-3")


def _replace() -> None:
    """Replace the first; a client that repeats itself replaces what it has submitted itself."""
    again = NewProcess("Second", {}, submission_key="cart-3", on_conflict="replace")
    submit_many("toy_line", [again, NewProcess("Beside", {}, submission_key="b", key_for=None)])


def _one_left(after: Aftermath) -> None:
    *replaced, last = Process.objects.filter(submission_key="cart-3").order_by("key_use")
    assert {process.state for process in replaced} == {"cancelled"}
    assert len(replaced) == 1 or (after.crash is not None and len(replaced) == 2)
    assert (last.subject, last.state) == ("Second", "processed")
    assert Process.objects.get(submission_key="b").state == "processed"
    # Nothing was called for those that were replaced.
    assert not Journal.objects.filter(process__in=replaced, event="claimed").exists()
    assert set(services().count().values()) <= {0, 2}
    after.assert_told_everything()


SCENARIOS = [
    Scenario("submit under a key", _submit, _one_of_all, brief=("submission.submit",)),
    Scenario(
        "replace under a key", _replace, _one_left, prepare=_first, brief=("submission.submit",)
    ),
]
