"""The broker takes nothing more: submission does not wait for it, and no attempt is used up."""

import pytest

from tests.chaos.run import Run
from tests.chaos.scenarios.outages import during, strike_for
from tests.chaos.single import figures, nothing_wrong, play
from tests.programs import until

pytestmark = pytest.mark.slow
HURT_SECONDS = 14
#: The bound of a submission, whatever the broker does.
SUBMISSION_SECONDS = 1.0
#: Longer than an alarm needs to be set off.
CALL_SECONDS = 4
#: An agent tries twice for ``SAS_REPLY_SECONDS``, and takes as long to connect in between.
GIVE_UP_SECONDS = 9.5
#: Calls that have only just begun, and so end while the broker takes nothing.
CALLED = (
    "SELECT id, extract(epoch FROM started_at) FROM workers_step WHERE state = 'processing'"
    " AND agent = 'payment.charge' AND started_at > clock_timestamp() - interval '0.5 s'"
)
#: Their agent files no reply unless the broker does not take it.
FILED = (
    "SELECT step_id, extract(epoch FROM at) FROM workers_journal"
    " WHERE event IN ('reply_filed', 'processed') AND step_id IN ({})"
)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("broker-hang", marks=pytest.mark.fault("F12")),
        pytest.param("broker-alarm", marks=pytest.mark.fault("F13")),
    ],
)
def test_a_broker_that_takes_nothing_holds_up_no_submission_and_uses_up_no_attempt(stage, fault):
    called, filed = {}, {}

    def act(run: Run) -> None:
        run.system.set_faults("payment", latency_seconds=CALL_SECONDS)
        until(lambda: called.update(run.observer.rows(CALLED)) or bool(called), 20)
        strike_for(run, fault, HURT_SECONDS)
        run.system.set_faults("payment")
        filed.update(run.observer.rows(FILED.format(",".join(map(str, called)))))

    # Long enough for a reply that nobody takes to be filed in time.
    outcome = play(stage, fault, act, SAS_STEP_TIMEOUT_SECONDS="20")

    assert figures(outcome) == nothing_wrong()
    waited = during(outcome, fault)
    assert len(waited) >= HURT_SECONDS
    assert max(waited) < SUBMISSION_SECONDS
    assert set(filed) == set(called), "an agent waited for the broker to come back"
    assert max(filed[step] - called[step] for step in called) < CALL_SECONDS + GIVE_UP_SECONDS
