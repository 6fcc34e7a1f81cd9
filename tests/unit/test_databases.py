"""What a DATABASE_URL comes to."""

from typing import Any

import pytest
from django.db.utils import ConnectionHandler

from sasproject import databases

HOST = "postgres://shop:secret@db:5432/shop"


def session(url: str) -> dict[str, Any]:
    """Return what psycopg is given."""
    made = ConnectionHandler({"default": databases.configure(url)})["default"]
    params: dict[str, Any] = made.get_connection_params()
    return params


@pytest.mark.parametrize(
    ("query", "theirs"),
    [
        ("", ""),
        ("?options=-c%20statement_timeout%3D0", " -c statement_timeout=0"),
        ("?options=-c%20search_path%3Dshop", " -c search_path=shop"),
    ],
)
def test_options_of_the_url_come_after_our_limits(query, theirs):
    """The last one counts: what the URL sets holds, and what it does not is limited still."""
    assert session(HOST + query)["options"] == databases.LIMITS + theirs


@pytest.mark.parametrize(
    ("query", "wanted"), [("", "read-write"), ("?target_session_attrs=any", "any")]
)
def test_a_server_that_can_write_is_asked_for(query, wanted):
    assert session(HOST + query)["target_session_attrs"] == wanted


@pytest.mark.parametrize(("query", "wanted"), [("", 30_000), ("?tcp_user_timeout=5000", 5000)])
def test_a_statement_to_a_server_that_is_gone_is_not_waited_for(query, wanted):
    """Without it the kernel sends it again for a quarter of an hour."""
    assert int(session(HOST + query)["tcp_user_timeout"]) == wanted


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("postgres://shop@%2Fvar%2Frun%2Fpostgresql/shop", "/var/run/postgresql", None),
        ("postgres://shop@%2Fvar%2Frun:5433/shop", "/var/run", 5433),
        ("postgres://shop@one:5432,two:5433/shop", "one,two", "5432,5433"),
        ("postgres://shop@[::1]/shop", "::1", None),
    ],
)
def test_where_the_server_is(url, host, port):
    params = session(url)

    assert (params["host"], params.get("port")) == (host, port)
