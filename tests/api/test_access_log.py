"""Each request leaves a line in the log, with the number of the order that it is about."""

import json
import logging
import runpy
from typing import Any

import pytest
from gunicorn.config import Config
from structlog.contextvars import clear_contextvars, get_contextvars

from orders.models import Order
from sasproject import access_log, logs
from tests.factories import OrderFactory
from tests.programs import ROOT


def lines(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in caplog.records if record.name == access_log.__name__]


@pytest.fixture(autouse=True)
def _at_info(caplog) -> None:
    caplog.set_level(logging.INFO)


def test_a_request_says_what_was_asked_and_how_it_was_answered(client, caplog):
    assert client.get("/nowhere/?email=ann@example.org").status_code == 404
    (line,) = lines(caplog)
    assert (line.message, line.method, line.path, line.status) == (
        "request", "GET", "/nowhere/", 404,
    )  # fmt: skip
    assert line.ms >= 0
    assert "ann@" not in str(vars(line))


def test_what_is_asked_of_an_order_bears_its_number(acme):
    placed = acme.place().json()
    order = Order.objects.get(number=placed["number"])
    assert get_contextvars() == {"order": order.number, "trace": order.process.uid.hex}
    acme.get("/orders")
    assert get_contextvars() == {}
    acme.get(f"/orders/{placed['id']}")
    assert get_contextvars() == {"order": order.number, "trace": order.process.uid.hex}


def test_an_order_s_page_does_too(client):
    order = OrderFactory()
    assert client.get(f"/orders/{order.secret}/").status_code == 200
    assert get_contextvars() == {"order": order.number, "trace": order.process.uid.hex}


@pytest.mark.parametrize(
    ("subject", "order"), [("Order 301", 301), ("Return of order 301", 301), ("Rental 301", None)]
)
def test_a_line_about_a_process_bears_the_number_of_its_order(subject, order, monkeypatch):
    given: list[Any] = []
    monkeypatch.setattr(logs.logging.config, "dictConfig", given.append)
    logs.configure(json=True, level="INFO")
    options = given[0]["formatters"]["one_line"]
    formatter = options.pop("()")(**options)
    record = logging.makeLogRecord(
        {"name": "workers.x", "levelname": "INFO", "msg": "attempt_failed", "subject": subject}
    )
    clear_contextvars()
    assert json.loads(formatter.format(record)).get("order") == order


def test_probes_leave_none(client, caplog):
    assert client.get("/livez").status_code == 200
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ("name", "status", "is_kept"),
    [("django.request", 503, False), ("django.request", 500, True), ("orders.api", 503, True)],
)
def test_django_s_line_about_a_503_is_left_out(name, status, is_kept):
    record = logging.makeLogRecord({"name": name, "status_code": status, "exc_info": None})
    assert access_log.DropUnavailable().filter(record) == is_kept


def test_a_traceback_is_never_left_out():
    record = logging.makeLogRecord(
        {"name": "django.request", "status_code": 503, "exc_info": (ValueError, ValueError(), None)}
    )
    assert access_log.DropUnavailable().filter(record)


@pytest.mark.parametrize(("setting", "is_json"), [("", True), ("on", True), ("off", False)])
def test_gunicorn_s_own_lines_are_of_the_same_form(setting, is_json, monkeypatch):
    monkeypatch.setenv("SAS_LOG_JSON", setting)
    log = runpy.run_path(str(ROOT / "gunicorn.conf.py"))["logger_class"](Config())
    handler = next(one for one in log.error_log.handlers if getattr(one, "_gunicorn", False))
    record = logging.makeLogRecord(
        {"name": "gunicorn.error", "levelname": "INFO", "msg": "Booting %s", "args": (7,)}
    )
    text = handler.format(record)
    assert text.startswith("{") == is_json
    if is_json:
        found = json.loads(text)
        assert (found["level"], found["event"]) == ("info", "Booting 7")
