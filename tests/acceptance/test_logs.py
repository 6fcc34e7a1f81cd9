"""What a log line shows: the reasons that our own code gives, and no library's arguments."""

import json
import os
import subprocess
import sys

import pytest

from tests import programs
from tests.programs import ROOT

SOURCE = """
import logging
from sasproject import logs
logs.configure(json=True, level="INFO")
logging.getLogger("workers.wire.dispatch").warning("wake_up_refused", extra={"reason": "no route"})
logging.getLogger("celery.app.trace").error("task failed", extra={"data": {"args": "card 4711"}})
"""


def test_our_fields_are_shown_and_a_library_s_are_not():
    done = subprocess.run(
        [sys.executable, "-c", SOURCE], cwd=ROOT, env=os.environ, capture_output=True, check=True
    )

    ours, theirs = map(json.loads, done.stderr.splitlines())

    assert (ours["event"], ours["reason"]) == ("wake_up_refused", "no route")
    assert "data" not in theirs


TOKEN = "sas_0123abcd_abcdefghijklmnopqrstuvwxyz0123456789ABCD-_x"
BASE64 = "c2FzXzAxMjNhYmNkX2FiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/=="
CALLBACK = "AbCdEfGhIjKlMnOpQrStUvWxYz012345"
PASSWORD = "correct-horse"
LEAKS = f"""
import logging, structlog
from sasproject import logs
logs.configure(json=JSON, level="INFO")
django = logging.getLogger("django")
django.error("Unexpected auth - '{TOKEN}'")
django.error("Unexpected auth - 'Basic {TOKEN}'")
django.error("Unexpected auth - 'Basic {BASE64}'")
django.error("Unexpected auth - %r", "Token {BASE64}")
django.warning("Not Found: /api/v1/callbacks/{CALLBACK}")
logging.getLogger("workers.x").error("x", extra={{"deep": {{"one": ["{TOKEN}", "{SECRET}"]}}}})
structlog.get_logger("orders.x").info("y", token="{TOKEN}", url="amqp://shop:{PASSWORD}@host/v")
try:
    raise ValueError("bad {TOKEN} at postgres://u:{PASSWORD}@host/db")
except ValueError:
    django.exception("it failed")
django.warning("a basic rule for /orders/17/ and sas_agents")
"""


@pytest.mark.parametrize("json_lines", [True, False])
def test_no_line_shows_what_lets_its_reader_in(json_lines):
    done = programs.python("-c", LEAKS.replace("JSON", str(json_lines)), check=True)

    lines = done.stderr.splitlines()
    assert len(lines) == 9
    for right in (TOKEN[13:], BASE64, SECRET[6:], CALLBACK, PASSWORD):
        assert right not in done.stderr
    # Which token it was can still be told, as the list of tokens has it.
    assert "sas_0123abcd_***" in lines[0]
    assert "/api/v1/callbacks/***" in lines[4]
    assert "postgres://u:***@host/db" in lines[7]
    assert "a basic rule for /orders/17/ and sas_agents" in lines[8]
    if json_lines:
        assert all(json.loads(line)["event"] for line in lines)


OUTAGES = """
import logging, psycopg, sqlite3
from django.db import OperationalError
from kombu.exceptions import OperationalError as BrokerError
from sasproject import logs
logs.configure(json=True, level="LEVEL")

def tell(error, cause):
    try:
        try:
            raise cause
        except Exception as why:
            raise error from why
    except Exception:
        logging.getLogger("celery.beat").exception("Message %s\\n%s", error, ["frames", "frames"])

tell(OperationalError("server closed\\nmore of it"), psycopg.OperationalError())
tell(OperationalError("standby"), psycopg.errors.ReadOnlySqlTransaction())
tell(ValueError("beat's own"), BrokerError("refused"))
tell(OperationalError("deadlock"), psycopg.errors.DeadlockDetected())
tell(OperationalError("too slow"), psycopg.errors.QueryCanceled())
tell(OperationalError("no such table"), sqlite3.OperationalError())
tell(KeyError("x"), ValueError())
"""


def outages(level: str) -> list[dict[str, str]]:
    source = OUTAGES.replace("LEVEL", level)
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, env=os.environ, capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_a_server_that_is_away_is_told_of_in_one_line_and_a_fault_of_ours_is_not():
    closed, standby, broker, *others = outages("INFO")

    assert closed["event"] == "Message server closed"
    assert closed["reason"] == "OperationalError: server closed"
    assert standby["reason"] == "OperationalError: standby"
    assert broker["reason"] == "OperationalError: refused"
    assert not any("exception" in one for one in (closed, standby, broker))
    assert all("Traceback" in one["exception"] for one in others)
    assert len(others) == 4


def test_debug_has_the_traceback_of_an_outage():
    assert all("Traceback" in one["exception"] for one in outages("DEBUG"))
