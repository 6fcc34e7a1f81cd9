"""What a change of a row costs PostgreSQL beside the row itself."""

import pytest
from django.db import connection
from django.db.models import F

from workers.client.submission import submit_many
from workers.models import Flow, Process
from workers.protocol.messages import Reply
from workers.rules.rows import NewProcess
from workers.store.claims import claim_steps
from workers.store.settle import settle_replies
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere


def hot_updates(table: str) -> int:
    """Return a count that grows with each change of a row that touches no index."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_get_xact_tuples_hot_updated(%s::regclass)", [table])
        return int(cursor.fetchone()[0])


@pytest.mark.postgresql
def test_a_process_that_takes_a_number_stays_on_its_page():
    beat_schedule.ensure_flow()
    submitted = submit_many("toy_line", [NewProcess(f"Order {n}", {}) for n in range(100)])

    # A few of those that were written first: the pages behind them are as full as they get.
    few = [process.pk for process in submitted[:5]]
    before = hot_updates("workers_process")
    Process.objects.filter(pk__in=few).update(sequence=F("sequence") + 1)

    assert hot_updates("workers_process") - before == 5


@pytest.mark.postgresql
def test_a_step_that_is_claimed_and_ended_stays_on_its_page():
    beat_schedule.ensure_flow()
    # Two steps each; those that are written first have full pages behind them.
    submit_many("toy_line", [NewProcess(f"Order {n}", {}) for n in range(100)])
    # No more, for what one transaction leaves behind nobody clears away before it ends.
    Flow.objects.update(window=1)

    before = hot_updates("workers_step")
    taken = claim_steps.claim_due({"toy.alpha"}, anywhere())
    replies = [Reply(one.step_id, one.claim_id, one.attempt, result={}) for one in taken]
    settled = settle_replies.apply(replies, "scheduler", own_room=anywhere())
    waited = claim_steps.claim_due(settled.waited_for, anywhere())

    assert (len(taken), len(settled.claims), len(waited)) == (1, 1, 1)
    # Claimed and ended; and what follows it claimed, and what waited for its room.
    assert hot_updates("workers_step") - before == 2 + 2
