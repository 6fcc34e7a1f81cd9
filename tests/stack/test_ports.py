"""Which port is chosen, and what is said when a wanted one is taken."""

import socket
from collections.abc import Iterator

import pytest
from django.core.management.base import CommandParser

from sasproject.demo import options
from sasproject.management.commands import stack
from sasproject.stack import ports
from sasproject.stack.exceptions import StackError


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind((ports.HOST, 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_wanted_port_that_is_taken_is_refused(taken):
    with pytest.raises(StackError, match=f"Port {taken} is already in use.*--web-port"):
        ports.choose(taken, preferred=1, option="--web-port")


def test_a_preferred_port_that_is_taken_is_replaced(taken):
    port = ports.choose(None, preferred=taken, option="--web-port")
    assert port != taken
    assert ports.is_free(port)


def test_two_servers_do_not_get_one_port():
    port = ports.choose(0, preferred=1, option="--web-port")
    assert ports.choose(None, preferred=port, option="--sandbox-port", avoid=port) != port
    with pytest.raises(StackError):
        ports.choose(port, preferred=1, option="--sandbox-port", avoid=port)


@pytest.mark.parametrize(
    "add_arguments", [options.add_arguments, stack.Command().add_arguments], ids=["demo", "stack"]
)
def test_help_says_the_same_of_ports(add_arguments):
    parser = CommandParser()
    add_arguments(parser)
    said = " ".join(parser.format_help().split())
    assert "--web-port P default: 8000, or any free one" in said
    assert "--sandbox-port Q default: 8900, or any free one" in said
