"""httpx2 2.16 and the standard library: sockets of our own, threads as many as are wanted."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import httpcore2
import httpx2


def test_a_transport_cannot_be_given_its_sockets():
    """Red when it can: then ``DeadlineTransport`` need not reach into its pool."""
    assert "network_backend" not in inspect.signature(httpx2.HTTPTransport.__init__).parameters


def test_a_transport_s_pool_has_its_sockets_where_they_are_replaced():
    transport = httpx2.HTTPTransport()

    assert isinstance(transport._pool._network_backend, httpcore2.NetworkBackend)
    assert "network_backend" in inspect.signature(httpcore2.ConnectionPool.__init__).parameters


def test_threads_do_not_say_how_many_there_may_be():
    """Red when they do: then ``agent.runner`` need not read ``_max_workers``."""
    with ThreadPoolExecutor(3) as threads:
        assert threads._max_workers == 3
    assert not hasattr(threads, "max_workers")
