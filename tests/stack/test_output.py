"""What is shown, what is logged, and what must never be."""

import io

import pytest

from sasproject.stack import rolelog
from sasproject.stack.backends import broker_name
from sasproject.stack.console import Console
from sasproject.stack.rolelog import LineWatch, RoleLog


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drain(log: RoleLog, data: bytes, watch: LineWatch | None = None) -> None:
    log.drain(io.BufferedReader(io.BytesIO(data)), watch or LineWatch(""))


def test_roles_are_coloured_on_a_terminal_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        Console(stream, echo=True).relay("web", "hello")
    assert terminal.getvalue() == "\x1b[36m[web]\x1b[0m hello\n"
    assert file.getvalue() == "[web] hello\n"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    Console(plain, echo=True).relay("web", "hello")
    assert plain.getvalue() == "[web] hello\n"


def test_roles_are_quiet_unless_wanted():
    stream = io.StringIO()
    console = Console(stream)
    console.relay("web", "hello")
    console.say("migrating")
    assert stream.getvalue() == "stack: migrating\n"


def test_a_reader_that_has_gone_harms_nothing():
    stream = io.StringIO()
    console = Console(stream)
    stream.close()
    console.say("migrating")


def test_a_log_is_turned_over_when_full(tmp_path, monkeypatch):
    monkeypatch.setattr(rolelog, "LOG_BYTES", 1000)
    log = RoleLog("web", tmp_path, Console(None))
    drain(log, b"x" * 99 + b"\n" + (b"y" * 99 + b"\n") * 25)
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["web.log", "web.log.1"]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())


def test_any_bytes_can_be_logged(tmp_path):
    log = RoleLog("web", tmp_path, Console(None))
    watch = LineWatch("ready")
    drain(log, b"100% \xff\n" + b"z" * 200_000 + b"\nnow ready\n", watch)
    log.close()
    assert watch.seen
    assert log.path.read_text().startswith("100% \ufffd\nzzz")
    assert log.tail().endswith("now ready")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("amqp://shop:secret@mq:5672/prod?password=x", "amqp://mq:5672"),
        ("amqp://a:secret@one//;amqp://b:secret@two//", "amqp://one, amqp://two"),
        ("redis://:secret@cache/0", "redis://cache"),
        ("redis+socket:///run/broker.sock", "redis+socket:///run/broker.sock"),
        ("amqp://shop:sec[ret@mq//", "amqp"),
    ],
)
def test_a_brokers_name_holds_no_credentials(url, name):
    assert broker_name(url) == name
