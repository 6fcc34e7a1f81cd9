"""Writing the letters of the relay: what each claimed sink is to be told, in order."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid5

from workers.definitions import registry
from workers.exceptions import UnknownWorkflow
from workers.notify import status_message
from workers.notify.senders import Letter
from workers.states import FINAL_PROCESS_STATES
from workers.store import sinks, unsent_statuses
from workers.store.sinks import ClaimedSink

log = logging.getLogger(__name__)

#: Time before a sink is looked at again whose letters this code cannot write.
UNKNOWN_SECONDS = 30.0


@dataclass
class Errand:
    """A claimed sink, and what it has yet to be told."""

    sink: ClaimedSink
    letters: list[Letter]


def errands(claimed: Sequence[ClaimedSink]) -> list[Errand]:
    """Write the letters of claimed sinks; one that nothing can be written for is put off."""
    if not claimed:
        return []
    subjects = unsent_statuses.subjects([sink.process_id for sink in claimed])
    news = unsent_statuses.news(claimed)
    secrets = {
        owner: registry.webhook_secrets(owner)
        for owner in {sink.owner for sink in claimed if sink.kind == "webhook"}
    }
    found = []
    for sink in claimed:
        try:
            letters = _letters(
                sink, subjects[sink.process_id], news[sink.id], secrets.get(sink.owner, ())
            )
        except UnknownWorkflow as error:
            log.warning("report_unknown", extra={"reason": str(error)})
            sinks.put_off(sink, UNKNOWN_SECONDS)
            continue
        except Exception:
            # One that cannot be described holds up no other.
            log.exception("report_unwritable", extra={"sink": sink.id})
            sinks.put_off(sink, UNKNOWN_SECONDS)
            continue
        if letters:
            found.append(Errand(sink, letters))
        else:
            # Its rows are gone, with nothing left to tell.
            sinks.told([sinks.SinkProgress(sink, sink.last)])
    return found


def _letters(
    sink: ClaimedSink,
    subject: unsent_statuses.Subject,
    news: Sequence[unsent_statuses.News],
    secrets: tuple[str, ...],
) -> list[Letter]:
    workflow = registry.workflow(subject.workflow, subject.version)
    facts = workflow.describe(subject.input) if workflow.describe else {}
    return [
        Letter(
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
