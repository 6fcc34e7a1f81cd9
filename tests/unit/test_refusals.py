"""Refusals are stored as a code with parameters and said when they are read."""

import re

import pytest
from django.utils import translation

from workers.exceptions import StateError
from workers.rules.refusals import TEXTS, refused, text_of


def test_a_refusal_says_its_text_and_carries_its_code():
    refusal = refused("undone_already", subject="Toy 1")

    assert isinstance(refusal, StateError)
    assert str(refusal) == "Toy 1 is being undone already."
    assert (refusal.code, refusal.params) == ("undone_already", {"subject": "Toy 1"})


@pytest.mark.parametrize("code", TEXTS)
def test_every_text_is_whole_with_its_parameters(code):
    with translation.override("en"):
        names = re.findall(r"%\((\w+)\)s", str(TEXTS[code]))
        text = text_of(code, dict.fromkeys(names, "X"))

    assert "%" not in text
    assert text.endswith(".")


def test_a_refusal_without_a_code_is_said_as_it_was():
    refusal = StateError("Not today.")

    assert text_of(refusal.code, refusal.params) == "Not today."
    assert text_of("of_a_newer_version", {}) == "of_a_newer_version"


def test_a_refusal_keeps_every_name_and_says_the_first_few():
    names = [f"s{n}" for n in range(552)]
    refusal = refused("past_no_return", subject="Toy 1", steps=names)

    assert refusal.params["steps"] == names
    assert "s10, s11 and 540 more are processed)" in str(refusal)
