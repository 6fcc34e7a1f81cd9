"""A variable whose name is almost one that is read says so, and nothing stops for it."""

import pytest

from sasproject.checks import DJANGO_NAMES, check_variables

from .test_empty_variables import OF_THE_PROJECT


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DJANGO_BEHIND_PROXI", "DJANGO_BEHIND_PROXY"),
        ("DJANGO_CSRF_TRUSTED_ORIGIN", "DJANGO_CSRF_TRUSTED_ORIGINS"),
        ("DJANGO_SETTING_MODULE", "DJANGO_SETTINGS_MODULE"),
    ],
)
def test_a_mistyped_variable_is_warned_of(name, meant, monkeypatch):
    monkeypatch.setenv(name, "on")

    (found,) = check_variables(None)

    assert (found.id, found.is_serious()) == ("sasproject.W001", False)
    assert found.msg == f"Nothing reads the variable {name}."
    assert found.hint == f"Did you mean {meant}?"


@pytest.mark.parametrize("name", [*sorted(DJANGO_NAMES), "DJANGO_VERSION"])
def test_known_and_foreign_django_variables_are_not_warned_of(name, monkeypatch):
    monkeypatch.setenv(name, "on")

    assert check_variables(None) == []


def test_every_variable_of_that_kind_is_known():
    assert {name for name in OF_THE_PROJECT if name.startswith("DJANGO_")} <= DJANGO_NAMES
