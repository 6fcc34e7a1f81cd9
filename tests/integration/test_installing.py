"""The engine in a Celery app of another project: what `install(app)` gives it."""

import os
import sys
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import pytest
from celery import Celery
from django.test import override_settings
from kombu import Queue
from kombu.transport import TRANSPORT_ALIASES
from kombu.utils.imports import symbol_by_name

from tests import programs
from workers.apps import _refuse_uninstalled
from workers.celery import conf, install, marker
from workers.checks import check_celery, check_databases
from workers.definitions import discovery
from workers.definitions.agent import DEFAULT_QUEUE
from workers.desk import wake_ups
from workers.ops import checks as warnings
from workers.wire import dispatch

ENGINE = {"sas.scheduler", "sas.supervisor", "sas.reports"}


def celery_app(**given: Any) -> Celery:
    """Return an app of a project that gives these settings, with a namespace as Django's have."""
    app = Celery("acme", set_as_current=False)
    names = {f"CELERY_{name.upper()}": value for name, value in given.items()}
    app.config_from_object(SimpleNamespace(**names), namespace="CELERY")
    return app


def ids(messages: Any) -> list[str]:
    return [message.id for message in messages]


def test_what_the_project_has_not_given_gets_the_engines_value():
    app = celery_app(broker_url="amqp://mq/acme")

    install(app)

    assert {name: app.conf[name] for name in conf.VALUES} == conf.VALUES
    assert app.conf.broker_transport_options == conf.transport_options("amqp")


def test_what_the_project_has_given_stays():
    app = celery_app(
        broker_url="amqp://mq/acme",
        broker_transport_options={"read_timeout": 60},
        worker_prefetch_multiplier=4,
        broker_heartbeat=0,
    )

    install(app)

    assert (app.conf.worker_prefetch_multiplier, app.conf.broker_heartbeat) == (4, 0)
    options = app.conf.broker_transport_options
    assert options == {**conf.transport_options("amqp"), "read_timeout": 60}


@pytest.mark.parametrize("scheme", ["redis", "rediss", "filesystem"])
def test_a_broker_gets_the_transport_that_is_mended(scheme, monkeypatch):
    monkeypatch.setitem(TRANSPORT_ALIASES, scheme, "stock")

    install(celery_app())

    assert symbol_by_name(TRANSPORT_ALIASES[scheme]).__module__.startswith("workers.celery.")


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ({}, {"celery"}),
        ({"task_default_queue": "acme.default"}, {"acme.default"}),
        ({"task_queues": [Queue("acme.mail"), Queue("sas.reports")]}, {"acme.mail"}),
    ],
)
def test_a_plain_worker_serves_the_projects_queues_and_the_engines(
    given: dict[str, Any], own: set[str]
) -> None:
    app = celery_app(**given)

    install(app)

    assert set(app.amqp.queues.consume_from) == {*ENGINE, DEFAULT_QUEUE, *own} | _agent_queues()


def _agent_queues() -> set[str]:
    from workers.celery.queues import agent_queues

    return set(agent_queues())


def test_installing_twice_is_once_and_after_use_is_too_late():
    app, used = celery_app(), celery_app()
    install(app)
    install(app)
    assert used.amqp is not None

    with pytest.raises(RuntimeError, match="before the Celery app is used"):
        install(used)


def test_an_app_without_the_engine_is_refused_by_check_worker_and_beat(monkeypatch):
    app = celery_app(broker_url="memory://")
    monkeypatch.setattr("workers.checks.celery.current_app", app)
    monkeypatch.setattr("celery.current_app", app)
    monkeypatch.setattr(marker, "_apps", WeakSet())

    assert "workers.E022" in ids(check_celery(None))
    with pytest.raises(SystemExit) as refusal:
        _refuse_uninstalled()
    assert str(refusal.value) == (
        "The Celery app 'acme' does not have the engine installed. Add `from workers.celery import "
        "install` and `install(app)` to the module that makes it, after "
        "`app.config_from_object(...)`, and import that app in the project's `__init__.py`."
    )

    install(app)

    assert "workers.E022" not in ids(check_celery(None))
    _refuse_uninstalled()


def test_another_app_of_a_project_that_has_the_engine_in_one_starts(monkeypatch):
    app, other = celery_app(), celery_app()
    monkeypatch.setattr(marker, "_apps", WeakSet())
    monkeypatch.setattr("celery.current_app", other)
    with pytest.raises(SystemExit):
        _refuse_uninstalled()

    install(app)

    _refuse_uninstalled()


def test_a_rate_limit_for_all_tasks_is_told_of(monkeypatch):
    from celery import current_app

    assert "workers.W014" not in ids(warnings.check_celery(None))
    monkeypatch.setitem(current_app.conf.changes, "task_annotations", {"*": {"rate_limit": "10/s"}})
    monkeypatch.setattr(current_app.tasks[dispatch.TAKE], "rate_limit", "10/s")

    warning = {message.id: message for message in warnings.check_celery(None)}["workers.W014"]

    assert dispatch.TAKE in warning.msg


def test_a_command_that_has_imported_no_task_is_told_of_it_as_well():
    script = """
import django
django.setup()
from celery import current_app
from workers.ops.checks import check_celery
current_app.conf.task_annotations = {"*": {"rate_limit": "10/s"}}
print([message.id for message in check_celery(None)])
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "sasproject.settings"}

    command = [sys.executable, "-c", script]
    ran = programs.run(*command, env=environment)

    assert "workers.W014" in ran.stdout, ran.stderr


class WritesDeskElsewhere:
    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return "archive" if model._meta.app_label == "desk" else None


class WritesElsewhere:
    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return "archive" if model._meta.app_label == "workers" else None


class ReadsElsewhere:
    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "archive" if model._meta.app_label == "workers" else None


class MigratesElsewhere:
    def allow_migrate(self, alias: str, app_label: str, **hints: Any) -> bool | None:
        return alias == "archive" if app_label == "workers" else None


@pytest.mark.parametrize(
    "router", [WritesElsewhere, ReadsElsewhere, MigratesElsewhere, WritesDeskElsewhere]
)
def test_a_router_that_moves_the_engines_tables_is_refused(router):
    assert "workers.E023" not in ids(check_databases(None))
    with override_settings(DATABASE_ROUTERS=[router()]):
        assert ids(check_databases(None)).count("workers.E023") == 1


@pytest.mark.parametrize(
    "name",
    [
        *(dispatch.TAKE, dispatch.ADVANCE, dispatch.SWEEP, dispatch.PRUNE, dispatch.REPORT),
        *(one.task for one in (wake_ups.RUN_JOBS, wake_ups.KEEP_HEALTH, wake_ups.EXAMINE)),
    ],
)
def test_the_engines_own_tasks_keep_their_promises_whatever_the_projects_others_do(name):
    from celery import current_app

    discovery.import_modules("tasks")
    task = current_app.tasks[name]

    assert (task.acks_late, task.reject_on_worker_lost) == (True, False)
    assert (task.serializer, task.ignore_result) == ("json", True)
