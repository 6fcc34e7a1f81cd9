"""To the good end, and back: branches, a local agent, an optional step, a submitter to tell."""

from django.contrib.auth.models import Group

from tests.crashes.scenario import (
    Scenario,
    always,
    assert_ended,
    once,
    services,
    submit_once,
    was_in_doubt,
)
from tests.toyflow import agents as toy
from workers.exceptions import Permanent, Transient
from workers.models import Alert, Process, Step
from workers.rules.rows import NewSink
from workers.testing import Aftermath, Wire

TOLD = (NewSink("queue", "replies.acme.one"), NewSink("queue", "replies.acme.two"))
_FORWARD = {"top": "processed", "left": "processed", "write": "processed", "last": "processed"}


def _all_done(after: Aftermath) -> None:
    # Mail is unsafe: of a call that was cut off nobody knows, and it is not repeated.
    mail = Step.objects.get(name="mail").state
    assert mail == "processed" or (after.crash and mail == "skipped")
    sent = services().count()["mail"]
    assert sent == 1 if mail == "processed" else sent <= 1
    effects = dict.fromkeys(["top", "left", "last"], 1) | ({"mail": 1} if sent else {})
    assert_ended(after, "processed", effects, **_FORWARD, mail=mail)
    assert Group.objects.count() == 1
    assert Alert.objects.count() == (mail == "skipped")
    if mail == "processed":
        after.assert_same_journal()


def _mailed_once(after: Aftermath) -> None:
    # A wake-up that comes again finds it started, and sends no second mail.
    mail = Step.objects.get().state
    sent = services().count()["mail"]
    assert (mail, sent) in [("processed", 1), ("skipped", 1), ("skipped", 0)]
    assert mail == "processed" or after.crash is not None


def _prepare_heard(wire: Wire) -> None:
    toy.script["on_end"] = lambda end: Group.objects.create(name=f"{end.id} {end.state}")  # type: ignore[assignment, return-value]


def _told_of_once(after: Aftermath) -> None:
    process = Process.objects.get()
    assert process.state == "processed"
    # Written with the end, or not at all.
    assert [group.name for group in Group.objects.all()] == [f"{process.pk} processed"]
    assert not Alert.objects.exists()
    after.assert_same_journal()


def _prepare_undo(wire: Wire) -> None:
    toy.script["toy.delta"] = always(Permanent("no", "it is refused for good", no_effect=True))
    toy.script["toy.undoer"] = once(Transient("http_500", "not now"))


def _all_undone(after: Aftermath) -> None:
    done = dict.fromkeys(["top", "left", "undo_top", "undo_left"], 1)
    undone = {"top": "compensated", "left": "compensated", "last": "error"}
    undone |= dict.fromkeys(["undo_top", "undo_left"], "processed")
    in_doubt = was_in_doubt("last")
    if in_doubt:
        # The refusal speaks for its own call only: the one that was cut off is undone.
        assert after.crash is not None
        done |= {"undo_last": 1}
        undone |= {"last": "compensated", "undo_last": "processed"}
    # The first try of an undo whose refusal got lost expires instead of failing.
    after.assert_same_journal(
        may_lack={"failed"}, but_for={"last", "undo_last"} if in_doubt else ()
    )
    # Nothing undoes what was written.
    assert_ended(after, "compensated", done, write="processed", mail="cancelled", **undone)


SCENARIOS = [
    Scenario("forward", submit_once("toy_whole", sinks=TOLD), _all_done),
    Scenario(
        "mail", submit_once("toy_mail"), _mailed_once, brief=("claim_steps.claim_due", "runner.run")
    ),
    Scenario(
        "heard",
        submit_once("toy_heard_branches"),
        _told_of_once,
        prepare=_prepare_heard,
        brief=("settle_replies.apply",),
    ),
    Scenario("undo", submit_once("toy_whole", sinks=TOLD), _all_undone, prepare=_prepare_undo),
]
