"""Cyclic garbage is collected after a batch, and searched for where some may be."""

import gc
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from celery.signals import task_failure, worker_process_init

from workers.agent.dead_children import on_failure
from workers.celery import hooks
from workers.runtime.gc_control import collected_later, leave_what_is_there


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()
    gc.unfreeze()


@collected_later
def _look() -> bool:
    return gc.isenabled()


@collected_later
def _fail() -> None:
    raise LookupError


@collected_later
def _look_twice() -> tuple[bool, bool]:
    return _look(), gc.isenabled()


def test_nothing_is_collected_meanwhile():
    assert _look() is False
    assert gc.isenabled()


def test_collecting_goes_on_after_a_failure():
    with pytest.raises(LookupError):
        _fail()
    assert gc.isenabled()


def test_the_outermost_has_collecting_go_on():
    assert _look_twice() == (False, False)
    assert gc.isenabled()


def test_who_collects_nothing_is_left_alone():
    gc.disable()
    assert _look() is False
    assert not gc.isenabled()


@pytest.fixture
def worker() -> Iterator[None]:
    """A worker of an app with the engine has started in this process."""
    hooks.add_steps(SimpleNamespace(app=SimpleNamespace(steps={"worker": set()})))
    yield
    task_failure.disconnect(on_failure)
    worker_process_init.disconnect(leave_what_is_there)


def test_a_worker_process_does_not_search_what_it_began_with(worker):
    before = object.__new__(_Knot)
    worker_process_init.send(sender=None)
    after = object.__new__(_Knot)
    searched = {id(one) for one in gc.get_objects()}
    assert (id(before) in searched, id(after) in searched) == (False, True)


class _Knot:
    """An object that may be in a cycle."""
