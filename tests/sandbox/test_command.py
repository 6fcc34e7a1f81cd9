"""``manage.py sandbox``: what it prints, how it ends, what it refuses."""

import signal
import socket
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from orders.sandbox.server import Sandbox
from tests.sandbox.caller import Caller
from tests.sandbox.running import Running


def test_the_command_says_where_it_listens_and_ends_cleanly(tmp_path, store):
    faults = '{"payment": {"error_rate": 1}}'
    with Running(tmp_path, "--port", "0", "--faults", faults) as running:
        status = Caller(running.url).post("/payment/charge", "k1", order=1).status
        ended = running.end(signal.SIGTERM)

    assert running.line == f"Sandbox at {running.url}, ledgers in {store}\n"
    assert status == 503
    assert ended == (0, "", "")
    assert not Path(f"{store}-wal").exists()
    with Sandbox(store) as sandbox:
        assert Caller(sandbox.url).struck("payment") == {"error_rate": 1}


def test_a_taken_port_is_refused_clearly(store):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(CommandError) as refused:
            call_command("sandbox", port=port, store=store)

    assert refused.value.returncode == 1
    assert str(refused.value) == (
        f"Port {port} of 127.0.0.1 is taken. Stop what listens there, or choose --port."
    )


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        pytest.param("--port=70000", "choose one from 0 to 65535", id="port"),
        pytest.param("--port=-1", "choose one from 0 to 65535", id="negative port"),
        pytest.param("--host=256.0.0.1", "Cannot start at 256.0.0.1:0", id="host"),
        pytest.param("--faults={", "must be a JSON object by service", id="no JSON"),
        pytest.param('--faults={"x": {}}', "must be a JSON object by service", id="service"),
        pytest.param('--faults={"billing": 1}', "billing: must be a JSON object", id="no set"),
        pytest.param('--faults={"billing": {"down": 1}}', "billing: down cannot be 1", id="value"),
    ],
)
def test_a_wrong_option_is_refused_clearly(store, option, problem):
    with pytest.raises(CommandError, match=problem):
        call_command("sandbox", "--port=0", f"--store={store}", option)


def test_a_file_that_is_no_ledger_is_refused_clearly(store):
    store.write_text("These are my notes, and they are long enough to be no database.")

    with pytest.raises(CommandError, match=r"Cannot keep ledgers in .*not a database"):
        call_command("sandbox", port=0, store=store)
