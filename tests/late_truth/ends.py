"""The ways in which a step that waits for its bank ends, by whom it may."""

from collections.abc import Callable

from tests.late_truth.story import Story
from workers.client import callbacks, operations
from workers.exceptions import Permanent, Refused
from workers.models import Journal, Process, Step
from workers.rules.external_answers import Outcome
from workers.store.operate import after_restore

ANN = "operator:ann"
End = Callable[[Story], None]


def _nothing(story: Story) -> None:
    """It goes on waiting."""


def _settled(story: Story) -> None:
    assert story.deliver(story.key) == Outcome.ACCEPTED
    story.run()


def _refused(story: Story) -> None:
    callbacks.fail(story.token, Refused("declined", "no", no_effect=True))


def _failed(story: Story) -> None:
    callbacks.fail(story.token, Permanent("gone", "no such account", no_effect=True))


def _failed_unclear(story: Story) -> None:
    callbacks.fail(story.token, Permanent("http_500", "broke"))


def _unanswered(story: Story) -> None:
    story.pass_time(hours=2.1, times=7)


def _cancelled(story: Story) -> None:
    operations.cancel(story.process.pk, actor=ANN, reason="")


def _compensated(story: Story) -> None:
    operations.undo(story.process.pk, outcome="compensated", actor=ANN, reason="")


def _skipped(story: Story) -> None:
    operations.skip(story.process.pk, story.step, actor=ANN, reason="")


def _by_hand(story: Story) -> None:
    operations.complete(story.process.pk, story.step, {"by": "transfer"}, actor=ANN, reason="")


def _begun_again(story: Story) -> None:
    operations.begin_again(story.process.pk, story.step, actor=ANN, reason="")
    story.run()


def _fallen_back(story: Story) -> None:
    _failed_unclear(story)
    story.run()


def _done_again(story: Story) -> None:
    operations.redo(story.process.pk, story.step, actor=ANN, reason="", may_happen_twice=True)
    story.run()


def _undone_by_hand(story: Story) -> None:
    """What the undo could not do, a person does."""
    story.run()
    undo = Step.objects.filter(process=story.process, undoes__name=story.step, state="error").last()
    if undo is None:
        story.pass_time(hours=1, times=1)
        undo = Step.objects.filter(process=story.process, undoes__name=story.step).last()
    assert undo is not None
    operations.complete(story.process.pk, undo.name, {"by": "transfer"}, actor=ANN, reason="")
    story.undone_by_hand.add(story.key)


def _away(story: Story) -> None:
    story.bank.is_down = True


def _restored(story: Story) -> None:
    after_restore.mark([story.process.pk], story.clock.now, actor=ANN)


def _gone(story: Story) -> None:
    """Its rows are pruned."""
    story.run()
    Journal.objects.filter(process=story.process).delete()
    Process.objects.filter(pk=story.process.pk).delete()


#: What happens in each end, in this order.
ENDS: dict[str, tuple[End, ...]] = {
    "waits": (_nothing,),
    "settled": (_settled,),
    "settled, cancelled": (_settled, _cancelled),
    "refused": (_refused,),
    "failed": (_failed,),
    "failed, cancelled": (_failed, _cancelled),
    "failed, begun again": (_failed, _begun_again),
    "unclear, undone": (_failed_unclear, _compensated),
    "unanswered": (_unanswered,),
    "unanswered, cancelled": (_unanswered, _cancelled),
    "unanswered, skipped": (_unanswered, _skipped),
    "cancelled": (_cancelled,),
    "compensated": (_compensated,),
    "skipped": (_skipped,),
    "skipped, cancelled": (_skipped, _cancelled),
    "skipped, done again": (_skipped, _done_again),
    "by hand": (_by_hand,),
    "by hand, cancelled": (_by_hand, _cancelled),
    "by hand, undone by hand": (_by_hand, _cancelled, _undone_by_hand),
    "cancelled, undone by hand": (_away, _cancelled, _undone_by_hand),
    "cancelled while the bank is away": (_away, _cancelled, _nothing),
    "begun again": (_begun_again,),
    "begun again twice": (_begun_again, _begun_again),
    "begun again, settled": (_begun_again, _settled),
    "begun again, cancelled": (_begun_again, _cancelled),
    "begun again, skipped": (_begun_again, _skipped),
    "fallen back": (_fallen_back,),
    "fallen back, settled": (_fallen_back, _settled),
    "fallen back, cancelled": (_fallen_back, _cancelled),
    "restored": (_restored,),
    "restored, settled": (_restored, _settled),
    "restored, cancelled": (_restored, _cancelled),
    "cancelled, pruned": (_cancelled, _gone),
}


def carry_out(story: Story, end: str) -> None:
    """Bring a story's step to an end."""
    for act in ENDS[end]:
        act(story)
