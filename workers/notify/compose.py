"""Compose the status messages of each claimed sink, in order."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid5

from workers.definitions import registry
from workers.exceptions import UnknownWorkflow
from workers.notify import status_message
from workers.notify.senders import StatusMessage
from workers.states import FINAL_PROCESS_STATES
from workers.store import isolation, sinks, unsent_statuses
from workers.store.sinks import ClaimedSink

log = logging.getLogger(__name__)

#: Time before a sink is tried again whose messages this code cannot compose.
UNKNOWN_SECONDS = 30.0


@dataclass
class PendingStatus:
    """A claimed sink, and its messages that are not delivered yet."""

    sink: ClaimedSink
    messages: list[StatusMessage]
    #: This code does not know its workflow.
    is_unknown: bool = False


def pending(claimed: Sequence[ClaimedSink]) -> list[PendingStatus]:
    """Compose the messages of claimed sinks; put off those for which that fails."""
    alert = isolation.alerting("process", "tell the submitter of")

    def leave(sink: ClaimedSink, error: Exception) -> None:
        sinks.put_off(sink, UNKNOWN_SECONDS)
        alert(sink.process_id, error)

    parts = isolation.apart(claimed, _compose, leave, name=lambda sink: f"sink {sink.id}")
    result = []
    for status in (status for part in parts for status in part):
        if status.messages:
            result.append(status)
        elif status.is_unknown:
            sinks.put_off(status.sink, UNKNOWN_SECONDS)
        else:
            # Its rows were pruned, so nothing is left to tell.
            sinks.told([sinks.SinkProgress(status.sink, status.sink.last)])
    return result


def _compose(claimed: Sequence[ClaimedSink]) -> list[PendingStatus]:
    """Compose the messages of sinks; write nothing."""
    subjects = unsent_statuses.subjects([sink.process_id for sink in claimed])
    news = unsent_statuses.news(claimed)
    secrets = {
        owner: registry.webhook_secrets(owner)
        for owner in {sink.owner for sink in claimed if sink.kind == "webhook"}
    }
    result = []
    for sink in claimed:
        try:
            messages = _messages(
                sink, subjects[sink.process_id], news[sink.id], secrets.get(sink.owner, ())
            )
        except UnknownWorkflow as error:
            log.warning("report_unknown", extra={"reason": str(error)})
            result.append(PendingStatus(sink, [], is_unknown=True))
        else:
            result.append(PendingStatus(sink, messages))
    return result


def _messages(
    sink: ClaimedSink,
    subject: unsent_statuses.Subject,
    news: Sequence[unsent_statuses.News],
    secrets: tuple[str, ...],
) -> list[StatusMessage]:
    workflow = registry.workflow(subject.workflow, subject.version)
    facts = workflow.describe(subject.input) if workflow.describe else {}
    return [
        StatusMessage(
            address=sink.address,
            body=status_message.encode(
                status_message.message(workflow.told_as, facts, subject, row)
            ),
            id=f"msg_{uuid5(subject.uid, f'{sink.id}:{row.sequence}').hex}",
            type=f"{workflow.told_as}.status",
            sequence=row.sequence,
            is_final=row.is_move and row.state in FINAL_PROCESS_STATES,
            correlation_id=sink.correlation_id,
            secrets=secrets,
        )
        for row in news
    ]
