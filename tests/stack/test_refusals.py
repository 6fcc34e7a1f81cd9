"""What the environment gets wrong ends every process in a line or three, with the remedy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import LockNotAvailable

from sasproject import brokers, databases, logs, refusals
from sasproject.variables import Variables, refused
from tests.services import POSTGRES, answers, missing
from workers.celery import database_login
from workers.checks import tables

from .test_loopback import python

CELERY = ("-m", "celery", "-A", "sasproject")
PROCESSES: dict[str, tuple[str, ...]] = {
    "command": ("manage.py", "order", "show", "1"),
    "worker": (*CELERY, "worker", "-c", "1"),
    "beat": (*CELERY, "beat", "--pidfile="),
    "web": (
        *("-m", "gunicorn", "sasproject.wsgi"),
        *("--bind", "127.0.0.1:0"),
        "--log-level=error",
    ),
    "consumer": ("manage.py", "consume_submissions"),
    "watch": ("manage.py", "sas", "watch"),
}
MIGRATE = "Run `manage.py migrate`"


def own_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what a process said, but for what gunicorn and Beat say of themselves."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    others = ("gunicorn.error", "SecurityWarning")
    return [line for line in lines if not any(name in line for name in others)]


@pytest.mark.volume
@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize(
    ("changes", "says"),
    [({"DJANGO_DEBUG": "maybe"}, "DJANGO_DEBUG must be on or off, got 'maybe'."), ({}, MIGRATE)],
    ids=["a wrong value", "no tables"],
)
def test_every_process_says_it_in_a_line(tmp_path, process, changes, says):
    (tmp_path / "static").mkdir()
    done = python(tmp_path, *PROCESSES[process], **changes)
    assert done.returncode not in (0, None)
    assert len(own_lines(done)) <= 1, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_a_command_says_that_the_database_is_away(tmp_path):
    url = "postgres://nobody:secret@127.0.0.1:1/nothing"
    done = python(tmp_path, *PROCESSES["command"], DATABASE_URL=url)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "The database does not answer" in done.stderr
    assert "DATABASE_URL" in done.stderr
    assert "secret" not in done.stderr
    told = python(tmp_path, *PROCESSES["command"], "--traceback", DATABASE_URL=url)
    assert "Traceback" in told.stderr


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "mysql://u:secret@h/n",
        "postgres://u:secret@h:port/n",
        "://",
        "sqlite",
        "postgres://u:secret@h/",
    ],
)
def test_a_database_s_url_is_refused_without_its_password(url):
    with pytest.raises(ImproperlyConfigured, match="Give one such as postgres://") as refusal:
        databases.configure(url)
    assert "secret" not in str(refusal.value)


def test_a_database_that_refuses_is_not_said_to_be_silent():
    silent = OperationalError("connection failed: Connection refused")
    assert str(refusals.explain(silent)).startswith("The database does not answer: connection")
    refusal = OperationalError("connection failed: FATAL:  the database system is starting up")
    assert str(refusals.explain(refusal)).startswith("The database refuses the connection: conn")
    standby = OperationalError("connection failed: session is read-only")
    assert str(refusals.explain(standby)).startswith("The database is read-only: conn")


def test_a_lock_that_is_not_given_is_not_said_to_be_a_database_that_is_away():
    """A migration behind a dump: nothing is wrong with the address."""
    error = OperationalError("canceling statement due to lock timeout")
    error.__cause__ = LockNotAvailable()
    said = str(refusals.explain(error))
    assert said.startswith("Somebody holds a lock: canceling statement due to lock timeout.")
    assert "DATABASE_URL" not in said


@pytest.mark.parametrize(
    ("said", "is_refused"),
    [
        ('FATAL:  password authentication failed for user "shop"', True),
        ("fe_sendauth: no password supplied", True),
        ('FATAL:  role "shop" does not exist', True),
        ('FATAL:  role "shop" is not permitted to log in', True),
        ('FATAL:  database "shop" does not exist', True),
        ('FATAL:  permission denied for database "shop"', True),
        ('FATAL:  no pg_hba.conf entry for host "::1", user "shop"', True),
        ("FATAL:  no such database: shop", True),
        ("FATAL:  the database system is starting up", False),
        ("FATAL:  sorry, too many clients already", False),
        ("session is read-only", False),
        ("Connection refused", False),
        ("timeout expired", False),
    ],
)
def test_a_login_that_is_refused_is_told_from_a_server_that_is_away(said, is_refused):
    error = OperationalError(f"connection failed: connection to server failed: {said}")
    assert bool(database_login.refusal(error)) is is_refused
    assert said in str(refusals.explain(error))


@pytest.mark.volume
@pytest.mark.parametrize(
    "url", ["sqlite:///{folder}/notes.txt", "postgres://u:secret@127.0.0.1:1/n?nonsense=1"]
)
@pytest.mark.parametrize("process", ["command", "worker", "web"])
def test_a_database_that_is_none_is_told_in_a_line(tmp_path, process, url):
    (tmp_path / "notes.txt").write_text("To be remembered.\n" * 100, encoding="ascii")
    assert "cannot be used: " in told(tmp_path, process, url.format(folder=tmp_path))


@pytest.mark.volume
@pytest.mark.parametrize("process", PROCESSES)
def test_a_file_that_cannot_be_made_ends_every_process(tmp_path, process):
    said = told(tmp_path, process, f"sqlite:///{tmp_path}/no-folder/db.sqlite3")
    assert "let this user write to the file and its folder" in said


@pytest.mark.volume
def test_a_file_that_cannot_be_written_ends_a_worker(tmp_path):
    url = f"sqlite:///{tmp_path}/db.sqlite3"
    assert python(tmp_path, "manage.py", "migrate", "-v", "0", DATABASE_URL=url).returncode == 0
    # Root may write to any file.
    url += "?init_command=PRAGMA%20journal_mode%3DWAL%3BPRAGMA%20query_only%3D1"
    said = told(tmp_path, "worker", url)
    assert "let this user write to the file and its folder" in said


@pytest.mark.volume
@pytest.mark.parametrize("process", PROCESSES)
def test_a_database_that_the_server_lacks_ends_every_process(tmp_path, process):
    if not answers(POSTGRES):
        missing("no PostgreSQL")
    said = told(tmp_path, process, POSTGRES.rpartition("/")[0] + "/of-nobody")
    assert "The database refuses this login: " in said
    assert "does not exist" in said


def test_beat_says_in_a_line_that_the_database_is_away(tmp_path):
    said = told(tmp_path, "beat", "postgres://nobody:secret@127.0.0.1:1/nothing")
    assert said.startswith("The database does not answer: ")


def told(folder: Path, process: str, url: str) -> str:
    """Return the one line that a process ends with which cannot use its database."""
    (folder / "static").mkdir(exist_ok=True)
    environment = {"DATABASE_URL": url, "SAS_LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}
    done = python(folder, *PROCESSES[process], **environment)
    assert done.returncode not in (0, None)
    (line,) = own_lines(done)
    assert "DATABASE_URL" in line
    assert "secret" not in line
    return line


@pytest.mark.parametrize("url", ["nonsense", "https://", "ftp://h", "http://u:secret@h:port"])
def test_an_address_of_services_that_cannot_be_called_is_refused(monkeypatch, url):
    monkeypatch.setenv("X_URL", url)
    with pytest.raises(
        ImproperlyConfigured, match="X_URL must be a valid URL that begins"
    ) as refusal:
        Variables().http_url("X_URL", default="")
    assert "secret" not in str(refusal.value)


def test_a_terminal_without_the_environment_is_told_how_to_get_it(tmp_path):
    # -S leaves installed packages out, as another Python does.
    done = python(tmp_path, "-S", "manage.py", "check")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "`source .venv/bin/activate`" in done.stderr


def test_a_run_folder_whose_key_cannot_be_made_is_told_in_a_line(tmp_path):
    (tmp_path / "secret-key").mkdir()
    done = python(tmp_path, "manage.py", "check")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "SAS_RUN_DIR cannot be used: " in done.stderr


@pytest.mark.parametrize("url", ["kafka://u:secret@h", "nonsense", "amqps//h", "sqs://"])
def test_a_broker_of_a_kind_that_is_not_supported_is_refused(url, tmp_path):
    with pytest.raises(ImproperlyConfigured, match="BROKER_URL must begin with") as refusal:
        brokers.configure(url, tmp_path)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["amqp://u:secret@h:port/v", "redis://[::1", "amqp://h;amqp://u:secret@h:99999/v"]
)
def test_a_broker_s_url_that_cannot_be_read_is_refused(url, tmp_path):
    with pytest.raises(ImproperlyConfigured, match="Give one such as amqp://") as refusal:
        brokers.configure(url, tmp_path)
    assert "BROKER_URL cannot be used" in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("level", ["LOUD", "info", "7"])
def test_a_level_that_does_not_exist_is_refused(level):
    with pytest.raises(ImproperlyConfigured, match="SAS_LOG_LEVEL must be DEBUG, INFO"):
        logs.configure(json=True, level=level)


@pytest.mark.parametrize(
    ("value", "is_on"), [("on", True), ("TRUE", True), ("1", True), ("off", False), ("no", False)]
)
def test_a_switch_is_on_or_off(monkeypatch, value, is_on):
    monkeypatch.setenv("X_SWITCH", value)
    assert Variables().bool("X_SWITCH", default=not is_on) is is_on


@pytest.mark.parametrize("value", ["maybe", " ", "2", "onn"])
def test_a_switch_that_is_neither_is_refused(monkeypatch, value):
    monkeypatch.setenv("X_SWITCH", value)
    with pytest.raises(ImproperlyConfigured, match="X_SWITCH must be on or off"):
        Variables().bool("X_SWITCH", default=True)


def test_what_a_library_says_of_a_variable_gets_its_name_and_a_remedy():
    with pytest.raises(ImproperlyConfigured) as refusal, refused("EMAIL_URL", "Do this."):
        raise KeyError("foo")
    assert str(refusal.value) == "EMAIL_URL cannot be used: 'foo'. Do this."


def no_table() -> ProgrammingError:
    error = ProgrammingError('relation "orders_order" does not exist')
    error.__cause__ = Exception()
    error.__cause__.sqlstate = "42P01"  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (no_table(), MIGRATE),
        (OperationalError("no such table: x"), MIGRATE),
        (OperationalError("connection refused"), "does not answer"),
        (ProgrammingError("column x is ambiguous"), None),
        (KeyError("x"), None),
    ],
)
def test_a_fault_of_ours_keeps_its_traceback(error, says):
    said = refusals.explain(error)
    assert said is None if says is None else says in str(said)


FORGETS = """
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import LockNotAvailable
call_command("migrate", verbosity=0)
recorder = MigrationRecorder(connection)
newest = max(name for app, name in recorder.applied_migrations() if app == "workers")
recorder.record_unapplied("workers", newest)
print(newest)
"""


@pytest.mark.slow
def test_no_process_starts_before_its_migrations(tmp_path):
    (tmp_path / "static").mkdir()
    newest = python(tmp_path, "manage.py", "shell", "-v", "0", "-c", FORGETS).stdout.strip()
    for process in set(PROCESSES) - {"command"}:
        done = python(tmp_path, *PROCESSES[process])
        assert done.returncode not in (0, None), process
        assert len(own_lines(done)) <= 1, done.stderr
        assert f"lacks our migrations from workers.{newest} on. {MIGRATE}, then" in done.stderr


@pytest.mark.django_db
def test_a_start_waits_for_the_engine_s_migrations_and_is_open_to_newer_ones():
    recorder = MigrationRecorder(connection)
    recorder.record_applied("workers", "9999_from_the_future")
    # Those of other apps are for whoever deploys them.
    recorder.record_unapplied("sessions", "0001_initial")
    assert tables.problem() is None

    for app in ("desk", "workers"):
        ((_, newest),) = MigrationLoader(connection).graph.leaf_nodes(app)
        recorder.record_unapplied(app, newest)

        assert tables.problem() == (
            "The database is older than this code: it lacks our migrations from "
            f"{app}.{newest} on. Run `manage.py migrate`, then start again."
        )
        recorder.record_applied(app, newest)


@pytest.mark.django_db
def test_a_database_that_is_away_is_no_problem_of_who_waits(monkeypatch):
    assert tables.problem() is None
    monkeypatch.setattr(connection.introspection, "table_names", lambda: ["other"])
    assert tables.problem() == tables.MISSING

    def away() -> list[str]:
        raise OperationalError("away")

    monkeypatch.setattr(connection.introspection, "table_names", away)
    assert tables.problem() is None
    assert "does not answer: away" in str(tables.problem(waits=False))


def test_a_name_beyond_the_terminal_s_encoding_is_written_as_its_code(tmp_path):
    source = "from orders.models import Product; print('Zo\\u00eb \\U0001f469')"
    done = python(tmp_path, "manage.py", "shell", "-v", "0", "-c", source, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "Zo\\xeb \\U0001f469\n")


def test_a_reader_that_has_seen_enough_ends_a_command_quietly(tmp_path):
    environ = {**os.environ, "SAS_RUN_DIR": str(tmp_path)}
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as closed:
        done = subprocess.run(
            [sys.executable, "manage.py", "help"],
            cwd=Path(__file__).resolve().parents[2],
            env=environ,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "")
