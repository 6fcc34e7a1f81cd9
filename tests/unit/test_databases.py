"""The options of the database connection, from its URL."""

import pytest

from sasproject.databases import configure

URL = "postgres://shop:secret@db:5432/shop"


def test_statements_that_come_again_are_prepared() -> None:
    options = configure(URL)["OPTIONS"]

    assert (options["server_side_binding"], options["prepare_threshold"]) == (True, 5)


def test_the_url_says_that_nothing_is_prepared() -> None:
    options = configure(f"{URL}?server_side_binding=0")["OPTIONS"]

    assert not options["server_side_binding"]
    assert "prepare_threshold" not in options


@pytest.mark.parametrize(
    ("option", "value"), [("prepare_threshold", 1), ("connect_timeout", 9), ("keepalives_idle", 7)]
)
def test_what_the_url_says_stands(option: str, value: int) -> None:
    assert configure(f"{URL}?{option}={value}")["OPTIONS"][option] == value


def test_a_file_has_none_of_them() -> None:
    assert "server_side_binding" not in configure("sqlite:///shop.sqlite3")["OPTIONS"]
