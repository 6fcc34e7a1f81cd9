"""Settings that nothing can rely on are told of before anything runs."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from django.core.checks import CheckMessage
from django.db import connection
from django.test import override_settings

from workers import checks
from workers.checks import celery, databases
from workers.definitions import registry
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Workflow, step
from workers.ops import checks as warnings
from workers.ops.checks import settings


def ids(found: list[CheckMessage]) -> list[str | None]:
    return [message.id for message in found]


def check_celery() -> list[CheckMessage]:
    return [*checks.check_celery(None), *warnings.check_celery(None)]


def check_databases() -> list[CheckMessage]:
    return [*checks.check_databases(None), *warnings.check_settings(None)]


@pytest.fixture(autouse=True)
def debug() -> Iterator[None]:
    with override_settings(DEBUG=True):
        yield


@pytest.fixture
def conf(monkeypatch) -> Any:
    """Let a test set one setting of the Celery app."""

    class Conf:
        def set(self, name: str, value: Any) -> None:
            monkeypatch.setitem(current_app.conf.changes, name, value)

    return Conf()


REDIS = {"visibility_timeout": 1260, "socket_timeout": 5}


def test_this_project_s_settings_are_good():
    assert check_celery() == check_databases() == []


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("accept_content", ["pickle"], ["workers.E015", "workers.W013"]),
        ("accept_content", ["json", "pickle"], ["workers.W013"]),
        # The engine's own messages are JSON, and its own tasks are not delivered again.
        ("task_serializer", "pickle", []),
        ("task_reject_on_worker_lost", True, []),
        ("accept_content", ["application/json"], []),
        ("task_always_eager", True, ["workers.W001"]),
        ("result_backend", "rpc://", ["workers.W002"]),
        ("task_acks_late", False, ["workers.W003"]),
        ("worker_prefetch_multiplier", 4, ["workers.W004"]),
        ("worker_prefetch_multiplier", 0, ["workers.W004"]),
        ("beat_scheduler", "celery.beat:PersistentScheduler", ["workers.W006"]),
    ],
)
def test_a_celery_setting_nothing_can_rely_on_is_told_of(conf, name, value, found):
    conf.set(name, value)

    messages = check_celery()

    assert ids(messages) == found
    assert all(message.hint for message in messages)
    for message in messages:
        if message.id == "workers.W013":
            assert "if your own tasks do not need pickle" in str(message.hint)


@pytest.mark.parametrize(
    ("url", "options", "found"),
    [
        ("amqp://user:secret@mq/shop", {"confirm_publish": True}, []),
        ("amqp://user:secret@mq/shop", {}, ["workers.W007"]),
        ("pyamqp://mq", {"confirm_publish": False}, ["workers.W007"]),
        ("redis://h/0", REDIS, []),
        ("rediss://h/0", {**REDIS, "socket_timeout": None}, ["workers.W008"]),
        ("redis+socket:///x", {**REDIS, "visibility_timeout": 40}, ["workers.E017"]),
        ("redis://h/0", {"socket_timeout": 5}, []),
    ],
)
def test_a_broker_is_used_with_what_makes_it_reliable(conf, url, options, found):
    conf.set("broker_url", url)
    conf.set("broker_transport_options", options)

    messages = check_celery()

    assert ids(messages) == found
    assert not any("secret" in str(message) for message in messages)


def test_the_visibility_timeout_outlasts_the_longest_declared_call(conf):
    conf.set("broker_url", "redis://h/0")
    register_workflow(Workflow("slow", 1, (step("a", "toy.alpha", timeout_seconds=600),)))
    try:
        conf.set("broker_transport_options", {**REDIS, "visibility_timeout": 610})
        assert ids(check_celery()) == ["workers.E017"]
        conf.set("broker_transport_options", {**REDIS, "visibility_timeout": 611})
        assert ids(check_celery()) == []
    finally:
        del registry._workflows[("slow", 1)]


def test_the_embedded_broker_is_for_development(conf):
    conf.set("broker_url", "filesystem://")

    with override_settings(DEBUG=False):
        assert ids(check_celery()) == ["workers.W005"]
    with override_settings(DEBUG=True):
        assert ids(check_celery()) == []


GOOD_SQLITE = {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"}


@pytest.mark.parametrize(
    ("vendor", "options", "found"),
    [
        ("sqlite", GOOD_SQLITE, []),
        ("sqlite", {**GOOD_SQLITE, "transaction_mode": "exclusive"}, []),
        ("sqlite", {**GOOD_SQLITE, "transaction_mode": "DEFERRED"}, ["workers.E013"]),
        ("sqlite", {}, ["workers.E013", "workers.W009"]),
        ("postgresql", {}, []),
        ("postgresql", {"isolation_level": 2}, []),
        ("postgresql", {"isolation_level": 4}, ["workers.E018"]),
        ("postgresql", {"pool": True}, ["workers.W010"]),
        ("mysql", {}, ["workers.E012"]),
    ],
)
def test_a_database_is_used_as_the_store_needs_it(monkeypatch, vendor, options, found):
    for module in (databases, settings):
        monkeypatch.setattr(module, "connection", _Connection(vendor, options))

    assert ids(check_databases()) == found


def test_a_database_is_named_as_its_users_name_it(monkeypatch):
    monkeypatch.setattr(databases, "connection", _Connection("mysql", {}))

    (found,) = check_databases()
    assert found.msg == "The database is MySQL or MariaDB."


class _Connection:
    def __init__(self, vendor: str, options: dict[str, Any]) -> None:
        self.vendor = vendor
        self.settings_dict = {"OPTIONS": options}


def test_instants_need_time_zones():
    with override_settings(USE_TZ=False):
        assert ids(check_databases()) == ["workers.E014"]
    assert connection.vendor in ("sqlite", "postgresql")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SAS_BACKOFF_BASE_SECONDS", 301),
        ("SAS_REPORT_BACKOFF_CAP_SECONDS", 9),
        ("SAS_SWEEP_SECONDS", 16),
        ("SAS_BREAKER_ALERT_SECONDS", 29),
    ],
)
def test_settings_that_contradict_each_other_are_told_of(name, value):
    with override_settings(**{name: value}):
        (found,) = warnings.check_settings(None)

    assert (found.id, name in found.msg) == ("workers.W011", True)


def test_what_another_check_refuses_is_told_of_once():
    with override_settings(SAS_SWEEP_SECONDS="soon", SAS_STEP_TIMEOUT_SECONDS="soon"):
        assert warnings.check_settings(None) == []
        assert celery.longest_call_seconds() == 0
