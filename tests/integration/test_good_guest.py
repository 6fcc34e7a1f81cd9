"""What the engine leaves alone: the project's own tasks, tests and other Celery apps."""

import inspect
import textwrap
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from celery import Celery
from celery.app.defaults import DEFAULTS
from celery.fixups.django import DjangoFixup
from celery.signals import beat_init, celeryd_after_setup, celeryd_init, import_modules
from celery.worker import state

from sasproject.celery import app as installed
from tests import programs
from tests.integration.test_installing import celery_app
from workers.agent import graceful_shutdown
from workers.celery import hooks, install, starting
from workers.celery.django_fixup import WorkerFixup
from workers.celery.installing import _for_installed
from workers.celery.queues import AMQP
from workers.conf import sas
from workers.wire import dispatch, publisher

HOOKS = "workers.celery.hooks"


def task(name: str) -> Any:
    return SimpleNamespace(name=name, request=SimpleNamespace(is_eager=False))


@pytest.fixture
def fixup() -> WorkerFixup:
    fixup = WorkerFixup(installed)
    fixup._close_database = Mock()  # type: ignore[method-assign]
    fixup.close_cache = Mock()  # type: ignore[method-assign]
    return fixup


def test_connections_are_closed_around_the_projects_tasks_as_celery_does(fixup):
    fixup.on_task_prerun(task("acme.count"))
    assert fixup._close_database.call_count == 1  # type: ignore[attr-defined]

    fixup.on_task_postrun(task("acme.count"))

    assert fixup._close_database.call_count == 2  # type: ignore[attr-defined]
    assert fixup.close_cache.call_count == 1  # type: ignore[attr-defined]


def test_the_engines_tasks_keep_theirs_and_leave_no_cache_open(fixup):
    fixup.on_task_prerun(task(dispatch.ADVANCE))
    fixup.on_task_postrun(task(dispatch.ADVANCE))

    assert fixup._close_database.call_count == 0  # type: ignore[attr-defined]
    assert fixup.close_cache.call_count == 1  # type: ignore[attr-defined]


def test_a_worker_has_this_fixup_before_celery_connects_it():
    (fixup,) = [one for one in installed._fixups if isinstance(one, DjangoFixup)]
    before = fixup._worker_fixup
    try:
        hooks.keep_connections(instance=SimpleNamespace(app=installed))
        assert isinstance(fixup.worker_fixup, WorkerFixup)
    finally:
        fixup._worker_fixup = before


def test_no_setting_of_the_projects_own_tasks_is_changed():
    plain, ours = celery_app(), celery_app()
    install(ours)
    names = [name for name in DEFAULTS if name.startswith(("task_", "result_"))]

    assert {name: ours.conf[name] for name in names} == {name: plain.conf[name] for name in names}
    assert ours.conf.get("CELERY_DB_REUSE_MAX") is None


def test_the_engine_sends_by_a_retry_policy_of_its_own(monkeypatch):
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(publisher, "_put", lambda *args, **options: sent.append(options))

    publisher.publish(dispatch.ADVANCE, [], dispatch.SCHEDULER_QUEUE)

    assert [options["retry_policy"] for options in sent] == [publisher.RETRY_POLICY]


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_signal_of_another_app_calls_no_hook(is_ours):
    app = celery_app()
    if is_ours:
        install(app)
    hook = Mock()
    receive = _for_installed(hook)

    receive(sender=app)
    receive(sender=SimpleNamespace(app=app))
    receive(sender="celery@host", instance=SimpleNamespace(app=app))

    assert hook.call_count == (3 if is_ours else 0)


def test_every_hook_is_called_for_apps_with_the_engine_alone():
    """No receiver of these signals is a hook itself, which would act for any app."""
    named = {hook for hook in vars(hooks).values() if getattr(hook, "__module__", "") == HOOKS}
    for signal in (import_modules, celeryd_init, celeryd_after_setup, beat_init):
        # Others of a process are references to what may be gone, and have no hash then.
        receivers = [one for _, one in signal.receivers or [] if inspect.isfunction(one)]

        assert not named.intersection(receivers)
        assert named.intersection(getattr(one, "__wrapped__", None) for one in receivers)


class _Request(SimpleNamespace):
    __hash__ = object.__hash__


@pytest.fixture
def under_way(monkeypatch) -> set[_Request]:
    requests: set[_Request] = set()
    monkeypatch.setattr(state, "active_requests", requests)
    return requests


class _Parent:
    app = SimpleNamespace(conf=SimpleNamespace(worker_soft_shutdown_timeout=20))


def _bound(
    monkeypatch: pytest.MonkeyPatch, requests: set[_Request], *, asked: int = 1
) -> tuple[list[int], list[float]]:
    """Let the time to end pass; return the signals sent, and the sleeps before."""
    signals: list[int] = []
    slept: list[float] = []
    ending = graceful_shutdown.OrderlyEnd(SimpleNamespace())
    ending._requests_to_end = asked

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 200:
            requests.clear()

    monkeypatch.setattr(graceful_shutdown.time, "sleep", sleep)
    monkeypatch.setattr(graceful_shutdown.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(graceful_shutdown.os, "kill", lambda pid, number: signals.append(number))
    ending._bound(_Parent.app)
    return signals, slept


def test_a_pool_is_ended_when_the_time_of_the_engines_calls_is_over(monkeypatch, under_way):
    under_way.add(_Request(name=dispatch.TAKE))

    signals, slept = _bound(monkeypatch, under_way)

    assert len(signals) == 1
    assert sum(slept) == pytest.approx(sas.shutdown_seconds, abs=graceful_shutdown.LOOK_SECONDS)


@pytest.mark.parametrize("asked", [1, 2])
def test_a_task_of_the_projects_own_is_waited_for(asked, monkeypatch, under_way):
    under_way |= {_Request(name="acme.long"), _Request(name=dispatch.TAKE)}

    signals, slept = _bound(monkeypatch, under_way, asked=asked)

    assert (len(signals), len(slept)) == (1, 201)


@pytest.mark.parametrize(
    ("queues", "given", "seconds"),
    [
        ("acme.default", 0.0, 0.0),
        ("acme.default,sas.scheduler", 0.0, 20),
        ("sas.agents", 0.0, 20),
        ("sas.agents", 90.0, 90.0),
    ],
)
def test_calls_have_time_after_a_cold_shutdown_only_where_they_can_run(
    queues: str, given: float, seconds: float
) -> None:
    app: Celery = celery_app(worker_soft_shutdown_timeout=given)
    install(app)
    app.amqp.queues.select(queues.split(","))
    assert isinstance(app.amqp, AMQP)

    hooks.give_calls_time(instance=SimpleNamespace(app=app))

    assert app.conf.worker_soft_shutdown_timeout == seconds


#: A worker in a thread sets much of its whole process: logs, apps, what closes connections.
IN_A_PROCESS = """
import os
from unittest.mock import Mock, patch

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django

django.setup()
from celery.contrib.pytest import _create_app
from celery.contrib.testing.worker import start_worker
from tests.integration.test_installing import celery_app
from workers.celery import hooks, install

"""


def run(code: str) -> None:
    ended = programs.python("-c", IN_A_PROCESS + textwrap.dedent(code), seconds=100)
    assert ended.returncode == 0, ended.stderr


def test_celerys_own_fixtures_start_a_worker_for_a_tests_app():
    """As ``celery_app`` and ``celery_worker`` do it, in a test that uses no database."""
    run("""
        with _create_app() as app:

            @app.task
            def double(number: int) -> int:
                return 2 * number

            app.loader.import_task_module("celery.contrib.testing.tasks")
            app.set_current()
            with start_worker(app, perform_ping_check=False):
                assert double.delay(21).get(timeout=10) == 42
    """)


def test_celerys_own_worker_fixture_takes_an_app_with_the_engine():
    """Such a worker is a test's: it is not refused, and the database is not asked."""
    run("""
        app = celery_app(broker_url="memory://", task_default_queue="own")
        install(app)
        with patch.object(hooks, "_refuse", Mock()) as refuse:
            with start_worker(app, perform_ping_check=False, queues=["own"]):
                assert list(app.amqp.queues.consume_from) == ["own"]
            refuse.assert_not_called()
    """)


def test_a_worker_of_the_command_is_refused(monkeypatch):
    monkeypatch.setattr(starting, "problems", lambda role: [f"no, {role}"])

    with pytest.raises(SystemExit, match=r"^no, worker$"):
        celeryd_init.send(sender="celery@host", instance=SimpleNamespace(app=installed))
