"""Settings: typed, bounded, and refused by the system check under their own name."""

import pytest
from django.test import override_settings

from tests.toyflow.agents import Asker
from workers.checks import DEPLOYMENT_NAMES, check_definitions, check_settings
from workers.conf import sas
from workers.definitions import registry
from workers.definitions.children import Children
from workers.definitions.registry import register_workflow
from workers.definitions.schedule import Schedule
from workers.definitions.workflow import Fallback, OnFailure, Undo, Workflow, step


def test_the_default_holds_until_it_is_overridden():
    assert sas.step_timeout_seconds == 30

    with override_settings(SAS_STEP_TIMEOUT_SECONDS="45"):
        assert sas.step_timeout_seconds == 45


@pytest.mark.parametrize("value", ["soon", "", None, "0", 601, float("nan")], ids=repr)
def test_a_wrong_value_fails_the_check_under_its_name(value):
    with override_settings(SAS_STEP_TIMEOUT_SECONDS=value):
        found = check_settings(None)

    assert [(error.id, "SAS_STEP_TIMEOUT_SECONDS" in error.msg) for error in found] == [
        ("workers.E001", True)
    ]


@pytest.mark.parametrize("value", ["maybe", "", None, 2], ids=repr)
def test_a_switch_that_is_neither_on_nor_off_fails_the_check(value):
    with override_settings(SAS_WEBHOOK_PRIVATE_ADDRESSES=value):
        assert [error.msg for error in check_settings(None)] == [
            f"SAS_WEBHOOK_PRIVATE_ADDRESSES must be on or off, got {value!r}."
        ]


@pytest.mark.parametrize("value", ["much", "-1", "nan"])
def test_a_sum_that_is_none_fails_the_check(value):
    with override_settings(SAS_TWO_PERSONS_ABOVE=value):
        assert [error.msg for error in check_settings(None)] == [
            f"SAS_TWO_PERSONS_ABOVE must be a sum of 0 or more, got {value!r}."
        ]


@pytest.mark.parametrize("name", ["SAS_WINDOW", "SAS_STEP_TIMEOUT_SECONDS"])
def test_a_count_with_a_fraction_fails_the_check(name):
    with override_settings(**{name: "12.5"}):
        assert [error.msg for error in check_settings(None)] == [
            f"{name} must be a whole number, got '12.5'."
        ]


def test_a_time_may_have_a_fraction():
    with override_settings(SAS_SWEEP_SECONDS="0.5"):
        assert check_settings(None) == []


@pytest.mark.parametrize("value", ["shop.example.org", "ftp://h", "https://", "https://h:99999/"])
def test_invalid_admin_url_fails_the_system_check(value):
    with override_settings(SAS_ADMIN_URL=value):
        assert [error.msg for error in check_settings(None)] == [
            "SAS_ADMIN_URL must be a valid URL that begins with https:// or http://."
        ]


@pytest.mark.parametrize("value", ["off", "False", "0", False])
def test_a_switch_is_read_as_people_write_it(value):
    with override_settings(DEBUG=True, SAS_WEBHOOK_PRIVATE_ADDRESSES=value):
        assert sas.webhook_private_addresses is False


def test_the_environment_holds_where_django_s_settings_say_nothing(monkeypatch):
    monkeypatch.setenv("SAS_WINDOW", "7")
    assert sas.window == 7
    with override_settings(SAS_WINDOW=9):
        assert sas.window == 9


def test_the_environment_is_checked_like_the_settings(monkeypatch):
    monkeypatch.setenv("SAS_WINDOW", "many")
    monkeypatch.setenv("SAS_WINDOWS", "7")
    assert [error.id for error in check_settings(None)] == ["workers.E001", "workers.E002"]


def test_an_unknown_name_is_refused_with_the_right_one():
    with override_settings(SAS_STEP_TIMEOUT_SECOND=30):
        found = check_settings(None)

    assert [error.id for error in found] == ["workers.E002"]
    assert found[0].hint == "Did you mean SAS_STEP_TIMEOUT_SECONDS?"


@pytest.mark.parametrize("name", sorted(DEPLOYMENT_NAMES))
def test_the_right_name_may_be_the_deployment_s(name, monkeypatch):
    monkeypatch.setenv(name[:-2] + name[-1], "on")

    assert [error.hint for error in check_settings(None)] == [f"Did you mean {name}?"]


def test_the_settings_of_this_project_are_right():
    assert check_settings(None) == []
    assert check_definitions(None) == []


def test_a_workflow_of_an_unknown_agent_fails_the_check():
    register_workflow(Workflow("stray", 1, (step("a", "toy.nobody"),)))
    try:
        found = check_definitions(None)
    finally:
        del registry._workflows[("stray", 1)]

    assert [error.id for error in found] == ["workers.E004"]
    assert "toy.nobody" in found[0].msg


def test_a_list_or_a_schedule_of_an_unknown_workflow_fails_the_check(monkeypatch):
    monkeypatch.setattr(registry, "_workflows", dict(registry._workflows))
    monkeypatch.setattr(registry, "_schedules", dict(registry._schedules))
    each = step("each", children=Children("nobody", lambda given, results: []))
    register_workflow(Workflow("stray", 1, (each,)))
    registry.register_schedule(Schedule("nightly", "nobody", cron="0 6 * * *"))

    found = check_definitions(None)
    assert {error.id for error in found} == {"workers.E028"}
    assert [error.msg.partition(" begins")[0] for error in found] == [
        "Step each of workflow stray",
        "Schedule nightly",
    ]


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        (step("a", "toy.alpha", undo=Undo("undo_a", "toy.mailer")), "workers.E005"),
        (
            step(
                "a",
                "toy.alpha",
                undo=Undo("undo_a", "toy.undoer"),
                fallbacks=(Fallback("toy.beta", undo_agent="toy.mailer"),),
            ),
            "workers.E005",
        ),
        (step("a", "toy.mailer", on_failure=OnFailure.WAIT), "workers.E006"),
    ],
    ids=["undo", "undo of a fall-back", "wait"],
)
def test_what_would_repeat_a_call_of_unknown_outcome_fails_the_check(declared, found):
    register_workflow(Workflow("stray", 1, (declared,)))
    try:
        errors = check_definitions(None)
    finally:
        del registry._workflows[("stray", 1)]

    assert [error.id for error in errors] == [found]


def test_a_queryable_agent_that_cannot_be_asked_fails_the_check(monkeypatch):
    monkeypatch.delattr(Asker, "probe")
    errors = check_definitions(None)
    assert [error.id for error in errors] == ["workers.E011"]
    assert "toy.asker" in errors[0].msg


def test_what_kubernetes_sets_for_a_service_is_no_setting(monkeypatch):
    """A Service called ``sas`` stopped every pod that started after it was made."""
    for name, value in {
        "SAS_PORT": "tcp://10.0.0.1:80",
        "SAS_PORT_80_TCP": "tcp://10.0.0.1:80",
        "SAS_PORT_80_TCP_PROTO": "tcp",
        "SAS_PORT_80_TCP_PORT": "80",
        "SAS_PORT_80_TCP_ADDR": "10.0.0.1",
        "SAS_SERVICE_HOST": "10.0.0.1",
        "SAS_SERVICE_PORT": "80",
        "SAS_SERVICE_PORT_HTTP": "80",
        "SAS_WEB_PORT_53_UDP_ADDR": "10.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    assert check_settings(None) == []

    monkeypatch.setenv("SAS_EXPORT", "on")
    monkeypatch.setenv("SAS_REPORT", "tcp")
    assert [error.msg for error in check_settings(None)] == [
        "There is no setting SAS_EXPORT.",
        "There is no setting SAS_REPORT.",
    ]
