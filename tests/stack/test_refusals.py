"""What the environment gets wrong ends every process in a line or three, with the remedy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError, connection

from sasproject import brokers, databases, logs, refusals
from sasproject.variables import Variables, refused
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
}
MIGRATE = "Run `manage.py migrate`"


def own_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what a process said, but for what gunicorn and Beat say of themselves."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return [line for line in lines if "[ERROR]" not in line and "SecurityWarning" not in line]


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"DJANGO_DEBUG": "maybe"}, "DJANGO_DEBUG must be on or off, got 'maybe'."),
        ({}, MIGRATE),
    ],
    ids=["a wrong value", "no tables"],
)
def test_every_process_says_it_in_a_line(
    tmp_path: Path, process: str, changes: dict[str, str], says: str
) -> None:
    (tmp_path / "static").mkdir()
    done = python(tmp_path, *PROCESSES[process], **changes)
    assert done.returncode not in (0, None)
    assert len(own_lines(done)) <= 1, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_a_command_says_that_the_database_is_away(tmp_path: Path) -> None:
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
    "url", ["nonsense", "mysql://u:secret@h/n", "postgres://u:secret@h:port/n", "://", "sqlite"]
)
def test_a_database_s_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="Give one such as postgres://") as refusal:
        databases.configure(url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("url", ["kafka://u:secret@h", "nonsense", "amqps//h", "sqs://"])
def test_a_broker_of_a_kind_that_is_not_supported_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="BROKER_URL must begin with") as refusal:
        brokers.configure(url, tmp_path)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["amqp://u:secret@h:port/v", "redis://[::1", "amqp://h;amqp://u:secret@h:99999/v"]
)
def test_a_broker_s_url_that_cannot_be_read_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="Give one such as amqp://") as refusal:
        brokers.configure(url, tmp_path)
    assert "BROKER_URL cannot be used" in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("level", ["LOUD", "info", "7"])
def test_a_level_that_does_not_exist_is_refused(level: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="SAS_LOG_LEVEL must be DEBUG, INFO"):
        logs.configure(json=True, level=level)


@pytest.mark.parametrize(
    ("value", "is_on"), [("on", True), ("TRUE", True), ("1", True), ("off", False), ("no", False)]
)
def test_a_switch_is_on_or_off(monkeypatch: pytest.MonkeyPatch, value: str, is_on: bool) -> None:
    monkeypatch.setenv("X_SWITCH", value)
    assert Variables().bool("X_SWITCH", default=not is_on) is is_on


@pytest.mark.parametrize("value", ["maybe", " ", "2", "onn"])
def test_a_switch_that_is_neither_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X_SWITCH", value)
    with pytest.raises(ImproperlyConfigured, match="X_SWITCH must be on or off"):
        Variables().bool("X_SWITCH", default=True)


def test_what_a_library_says_of_a_variable_gets_its_name_and_a_remedy() -> None:
    with pytest.raises(ImproperlyConfigured) as refusal, refused("EMAIL_URL", "Do this."):
        raise KeyError("foo")
    assert str(refusal.value) == "EMAIL_URL cannot be used: 'foo'. Do this."


def missing() -> ProgrammingError:
    error = ProgrammingError('relation "orders_order" does not exist')
    error.__cause__ = Exception()
    error.__cause__.sqlstate = "42P01"  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (missing(), MIGRATE),
        (OperationalError("no such table: x"), MIGRATE),
        (OperationalError("connection refused"), "does not answer"),
        (ProgrammingError("column x is ambiguous"), None),
        (KeyError("x"), None),
    ],
)
def test_a_fault_of_ours_keeps_its_traceback(error: Exception, says: str | None) -> None:
    said = refusals.explain(error)
    assert said is None if says is None else says in str(said)


@pytest.mark.django_db
def test_tables_are_missing_only_where_the_database_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not tables.are_missing()
    monkeypatch.setattr(connection.introspection, "table_names", lambda: ["other"])
    assert tables.are_missing()

    def away() -> list[str]:
        raise OperationalError("away")

    monkeypatch.setattr(connection.introspection, "table_names", away)
    assert not tables.are_missing()


def test_a_name_beyond_the_terminal_s_encoding_is_written_as_its_code(tmp_path: Path) -> None:
    source = "from orders.models import Product; print('Zo\\u00eb \\U0001f469')"
    done = python(tmp_path, "manage.py", "shell", "-v", "0", "-c", source, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "Zo\\xeb \\U0001f469\n")


def test_a_reader_that_has_seen_enough_ends_a_command_quietly(tmp_path: Path) -> None:
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
