"""Compare what the bank did with what the store says of it, order by order."""

from collections.abc import Iterator

from tests.late_truth.story import Story
from workers.models import Alert, Journal, Step

#: What puts a success before a person.
TOLD = ("late_success", "ended_in_doubt", "undo_stuck", "process_error", "decision_needed")


def unexplained(story: Story) -> Iterator[str]:
    """Say which successes are in no journal, or stand without anybody's knowing."""
    for key, outcomes in story.delivered.items():
        where = f"{story.process.subject}, key {key[-4:]}, {outcomes}"
        if outcomes == ["gone"] * len(outcomes):
            if Alert.objects.filter(cause=f"late_success:{key}").count() != 1:
                yield f"{where}: nobody is told of a success whose rows are gone"
            continue
        if not _is_journalled(story, key):
            yield f"{where}: in no journal"
        if outcomes.count("accepted") > 1:
            yield f"{where}: accepted twice"
        if story.bank.standing(key) and not (_is_kept(story, key) or _is_told(story)):
            yield f"{where}: stands, and nobody knows"
    if story.bank.given_back & story.undone_by_hand:
        yield f"{story.process.subject}: given back by the bank, beside a person"
    news = Journal.objects.filter(process=story.process, event="late_success")
    if news.count() > len(story.delivered):
        yield f"{story.process.subject}: told more than once"


def _is_journalled(story: Story, key: str) -> bool:
    steps = Step.objects.filter(process=story.process, name=story.step, result={"paid": key})
    answers = Journal.objects.filter(
        process=story.process,
        event__in=["late_success", "nobody_asked"],
        detail__answer={"result": {"paid": key}},
    )
    return steps.exists() or answers.exists()


def _is_kept(story: Story, key: str) -> bool:
    """Say whether the order is paid for by this very success."""
    return Step.objects.filter(
        process=story.process,
        name=story.step,
        state="processed",
        is_by_hand=False,
        result={"paid": key},
    ).exists()


def _is_told(story: Story) -> bool:
    return Alert.objects.filter(
        process=story.process, code__in=TOLD, acknowledged_at__isnull=True
    ).exists()
