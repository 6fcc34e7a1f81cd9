"""The engine's log lines say their fields where a project logs with ``logging`` as it comes."""

import io
import logging

import pytest
from celery.signals import after_setup_logger
from celery.utils.log import ColorFormatter

from sasproject.logs import _add_call_fields
from workers import logs
from workers.logs import AddCallFields, Formatter, within_call

CALL = {"agent": "card.hold", "subject": "Rental 1", "step": "deposit", "attempt": 2}


class Log:
    """A logger of some name, and what its handler has written."""

    def __init__(self, name: str, formatter: logging.Formatter) -> None:
        self._written = io.StringIO()
        self.handler = logging.StreamHandler(self._written)
        self.handler.setFormatter(formatter)
        self.logger = logging.Logger(name)
        self.logger.addHandler(self.handler)

    @property
    def lines(self) -> list[str]:
        return self._written.getvalue().splitlines()


def test_a_line_of_the_engine_says_its_fields():
    log = Log("workers.agent.dead_children", Formatter("%(levelname)s %(message)s"))

    log.logger.error("worker_died", extra={"how": "signal 9 (SIGKILL)", "attempt": 1})

    assert log.lines == ['ERROR worker_died how="signal 9 (SIGKILL)" attempt=1']


def test_fields_of_other_libraries_stay_where_they_are():
    log = Log("acme.tasks", Formatter("%(message)s"))

    log.logger.error("%s is late", "Ann", extra={"arguments": "secret"})

    assert log.lines == ["Ann is late"]


def test_whatever_is_logged_in_a_call_says_which_call():
    log = Log("acme.agents", Formatter("%(message)s"))

    with within_call(**CALL):
        log.logger.warning("%s says no", "bank")
    log.logger.warning("over")

    fields = 'agent=card.hold subject="Rental 1" step=deposit attempt=2'
    assert log.lines == [f"bank says no {fields}", "over"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "7"),
        ("", '""'),
        ("a=b", '"a=b"'),
        ('said "no"', '"said \\"no\\""'),
        ("two\nlines", '"two\\nlines"'),
        ("\u202egnp", '"\\u202egnp"'),
        ("Zoë", "Zoë"),
        ("Zoë B", '"Zoë B"'),
        (["a", "b"], "\"['a', 'b']\""),
    ],
)
def test_a_field_is_one_word_or_in_quotes(value, shown):
    log = Log("workers.x", Formatter("%(message)s"))

    log.logger.error("event", extra={"field": value})

    assert log.lines == [f"event field={shown}"]


def test_a_record_stays_as_it_is_for_the_next_handler():
    log = Log("workers.x", Formatter("%(message)s"))
    records: list[logging.LogRecord] = []
    log.logger.addFilter(lambda record: records.append(record) or True)

    log.logger.error("%s", "event", extra={"field": 1})

    assert (records[0].msg, records[0].args) == ("%s", ("event",))


def test_for_json_a_record_has_the_call_as_attributes():
    log = Log("acme.agents", logging.Formatter("%(step)s %(attempt)s"))
    log.handler.addFilter(AddCallFields())

    with within_call(**CALL):
        log.logger.error("event", extra={"attempt": "mine"})

    assert log.lines == ["deposit mine"]


@pytest.fixture
def celerys() -> Log:
    return Log("workers.x", ColorFormatter("%(levelname)s/%(processName)s %(message)s", False))


def test_the_log_that_celery_sets_up_shows_them(celerys):
    after_setup_logger.send(sender=None, logger=celerys.logger)

    celerys.logger.error("worker_died", extra={"step": "pay"})

    assert celerys.lines == ["ERROR/MainProcess worker_died step=pay"]


def test_a_formatter_of_the_projects_own_stays():
    own = logging.Formatter("%(message)s")
    log = Log("workers.x", own)

    after_setup_logger.send(sender=None, logger=log.logger)

    assert log.handler.formatter is own


def test_the_shops_lines_say_which_call():
    with within_call(**CALL):
        event = _add_call_fields(None, "error", {"event": "agent_crashed", "attempt": 3})

    assert event == {**CALL, "event": "agent_crashed", "attempt": 3}
    assert logs.call_fields() == {}


def test_a_process_without_any_handler_shows_them():
    last = logging.lastResort

    assert last is not None
    assert isinstance(last.formatter, Formatter)
