"""Text that a database cannot hold: told from any other, refused, or replaced."""

import pytest

from workers.exceptions import BadText
from workers.runtime.storable_text import check, check_all, check_value, is_storable, storable


@pytest.mark.parametrize("text", ["\x00", "a\ud800", "\udfffb", "\ud83d then \ude00"])
def test_nul_and_lone_surrogates_cannot_be_stored(text):
    assert not is_storable(text)
    assert is_storable(storable(text))


@pytest.mark.parametrize("text", ["", "a\n\x01\x7f", "\ue000\ufffd", "\U0001f600", "\u202e"])
def test_everything_else_is_stored_as_it_is(text):
    assert is_storable(text)
    assert storable(text) == text


def test_each_of_them_is_replaced_by_one_character():
    assert storable("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    assert storable(ValueError("\x00")) == "\ufffd"


def test_a_refusal_shows_the_place_and_not_the_whole_text():
    with pytest.raises(BadText) as refusal:
        check("reason", "x" * 5000 + "\x00" + "y" * 5000)

    assert str(refusal.value) == (
        "reason must be text without NUL and lone surrogates, got"
        f" {'x' * 20 + chr(0) + 'y' * 19!r}. Remove them."
    )


def test_the_first_bad_text_is_named():
    with pytest.raises(BadText, match="reason must be text"):
        check_all(actor="ann", reason="\x00", comment="\x00")


def test_values_are_searched_however_deep_they_are():
    value: object = "\ud800"
    for _ in range(10_000):
        value = [{"a": value}]

    with pytest.raises(BadText, match="--result must be text"):
        check_value("--result", value)
    check_value("--result", {"a": ["b", {1: ("c", None, 2.5, True)}]})
