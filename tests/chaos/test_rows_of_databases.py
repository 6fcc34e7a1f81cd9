"""PostgreSQL crashes in the middle of transactions, has no room, has no connection left."""

from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.chaos.faults import CATALOGUE
from tests.chaos.instances.postgresql import MAX_CONNECTIONS
from tests.chaos.observer import CONNECTIONS, Away
from tests.chaos.run import Run
from tests.chaos.scenarios.outages import strike_for
from tests.chaos.schedule import Strike
from tests.chaos.single import count, figures, nothing_wrong, play
from tests.chaos.stage import Stage
from tests.programs import until

pytestmark = pytest.mark.slow
#: Transactions of the system that have written something and wait before they are through.
HALF_WAY = (
    "SELECT count(*) FROM pg_stat_activity WHERE usename = 'shop' AND backend_xid IS NOT NULL"
    " AND wait_event_type = 'Lock'"
)
AT_WORK_SINCE_BEFORE = (
    "SELECT count(*) FROM workers_step WHERE state = 'processing' AND deferral IS NULL"
    " AND started_at < '{}'"
)
USED_UP = (
    "SELECT coalesce(max(failure_count), 0), coalesce(sum(failure_count), 0)::int FROM workers_step"
)
LOST = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop'"
    " AND backend_start < '{}'"
)


def log_of(stage: Stage, fault: str) -> str:
    return Path(stage.folder, fault, "postgresql.log").read_text()


def logs_of_the_system(stage: Stage, fault: str) -> str:
    return "".join(
        path.read_text(errors="replace") for path in Path(stage.folder, fault, "logs").iterdir()
    )


@pytest.mark.fault("F15")
def test_what_a_crash_of_the_database_cuts_off_is_there_or_not_and_never_half(stage):
    half_way, starts = [], []

    def act(run: Run) -> None:
        for _ in range(2):
            with suppress(psycopg.Error), run.system.backend.postgresql.connect() as admin:
                # Every transaction of the system writes its journal last or nearly so.
                admin.execute("BEGIN")
                admin.execute("LOCK TABLE workers_journal IN EXCLUSIVE MODE")
                until(lambda: count(run, HALF_WAY) >= 2, 20)
                half_way.append(count(run, HALF_WAY))
                strike_for(run, "database-crash", 0)
            until(lambda: processed(run) > 0, 30)
        starts.extend((member.name, member.starts) for member in run.system.crew.members.values())

    outcome = play(stage, "database-crash", act, doors=("http", "direct"))

    assert figures(outcome) == nothing_wrong(doors=2)
    assert outcome.verdict.strikes == {"database-crash": 2}
    assert all(number >= 2 for number in half_way), half_way
    assert log_of(stage, "database-crash").count("was not properly shut down") == 2
    # Whoever had a connection made another; nobody had to be started again.
    assert [name for name, number in starts if number != 1] == []


def processed(run: Run) -> int:
    try:
        return count(run, "SELECT count(*) FROM workers_process WHERE state = 'processed'")
    except Away:
        return 0


@pytest.mark.fault("F37")
def test_a_full_disk_costs_time_until_there_is_room(stage):
    used_up = []

    def act(run: Run) -> None:
        until(lambda: processed(run) > 0, 20)
        strike_for(run, "database-disk", 8)
        (room_since,) = run.observer.rows("SELECT clock_timestamp()::text")[0]
        until(lambda: count(run, AT_WORK_SINCE_BEFORE.format(room_since)) == 0, 60)
        used_up.extend(run.observer.rows(USED_UP))

    outcome = play(stage, "database-disk", act, doors=("http",))

    # What had started as the disk filled, and could not write what came of it before its time
    # was over, has used up one attempt.  Nothing else has, and nothing has used up two.
    ((most, attempts),) = used_up
    assert figures(outcome) == nothing_wrong() | {"attempts used up": attempts}
    assert outcome.events.get("expired", 0) == attempts
    assert most <= 1
    assert outcome.verdict.strikes == {"database-disk": 1}
    assert "No space left on device" in log_of(stage, "database-disk")


@pytest.mark.fault("F38")
def test_system_waits_out_lack_of_connections_without_deadlock(stage):
    def act(run: Run) -> None:
        until(lambda: processed(run) > 0, 20)
        (began,) = run.observer.rows("SELECT clock_timestamp()::text")[0]
        reserved = count(run, "SHOW superuser_reserved_connections")
        strike = Strike(run.chronicle.now(), "connections", 8.0, "connections")
        run.start_strike(CATALOGUE["connections"], strike)
        until(lambda: count(run, CONNECTIONS) == MAX_CONNECTIONS - reserved, 10)
        # What the system loses is taken from it, too.
        run.observer.rows(LOST.format(began))
        until(lambda: run.chronicle.marks[-1].ended is not None, 30)

    outcome = play(stage, "connections", act)

    assert figures(outcome) == nothing_wrong()
    assert outcome.verdict.strikes == {"connections": 1}
    assert "connection slots are reserved" in logs_of_the_system(stage, "connections")
    assert "deadlock detected" not in log_of(stage, "connections")
