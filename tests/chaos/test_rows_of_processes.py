"""Two Beats, and processes whose clocks are wrong by minutes."""

import signal

import pytest

from tests.chaos.faults.clocks import wrong_by
from tests.chaos.run import Run
from tests.chaos.scenarios.outages import strike_for
from tests.chaos.single import count, figures, nothing_wrong, play
from tests.programs import until

pytestmark = pytest.mark.slow
#: What happened to one attempt more than once.
TWICE = (
    "SELECT step_id, attempt, event FROM workers_journal WHERE attempt IS NOT NULL"
    " GROUP BY step_id, attempt, event HAVING count(*) > 1"
)
#: Steps that were charged with more, or fewer, failures than they had.
MISCOUNTED = (
    "SELECT s.id FROM workers_step s WHERE s.failure_count <> (SELECT count(*) FROM"
    " workers_journal j WHERE j.step_id = s.id AND j.event IN ('expired', 'failed'))"
)
EXPIRED = "SELECT count(*) FROM workers_journal WHERE event = 'expired'"


@pytest.mark.fault("F19")
def test_two_beats_sweep_and_poll_more_often_and_that_is_all(stage):
    found = {}

    def act(run: Run) -> None:
        (first,) = run.system.crew.of_kind("beat")
        pid = first.pid
        # Calls that never end: each is to be expired, once.
        run.system.set_faults("payment", hang_rate=0.3, seed=7)
        strike_for(run, "two-beats", 14)
        run.system.set_faults("payment")
        found["expired"] = count(run, EXPIRED)
        found["twice"] = run.observer.rows(TWICE)
        found["miscounted"] = run.observer.rows(MISCOUNTED)
        found["first is alive"] = first.pid == pid

    outcome = play(stage, "two-beats", act)

    expired = found.pop("expired")
    assert expired > 0
    assert found == {"twice": [], "miscounted": [], "first is alive": True}
    assert figures(outcome) | {"attempts used up": 0} == nothing_wrong()
    sent = (stage.folder / "two-beats" / "logs" / "second-beat.log").read_text()
    for duty in ("workers.sweep", "workers.advance"):
        assert sent.count(f"({duty})") >= 5


@pytest.mark.fault("F22")
@pytest.mark.parametrize("seconds", [300, -300], ids=["ahead", "behind"])
def test_clocks_that_are_minutes_wrong_expire_nothing_and_delay_nothing(stage, seconds):
    """All processes are wrong by as much; then the agents by as much in the other direction."""

    def act(run: Run) -> None:
        # So long that sweeps meet calls that are under way.
        run.system.set_faults("payment", latency_seconds=1.5)
        agents = run.system.crew.of_kind("agents")
        for member in agents:
            member.extra = wrong_by(-seconds)
            member.send(signal.SIGTERM)
        with run.chronicle.during("clock-skew", "system", f"{seconds:+d} s, agents otherwise"):
            until(lambda: all(member.starts == 2 for member in agents), 20)
            until(run.is_done, 60)

    outcome = play(stage, "clock-skew", act, rate=2.0, **wrong_by(seconds))

    assert figures(outcome) == nothing_wrong()
    assert outcome.verdict.strikes == {"clock-skew": 1}
