"""Waiting for a change: as many as there are places for, and whoever finds none is answered."""

import runpy
import time
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from orders.api import orders, waiting
from orders.api.waiting import Places
from orders.models import ApiClient
from sasproject.postgresql.base import DatabaseWrapper
from tests.programs import ROOT

ACME, BETA, CARS = (ApiClient(pk=pk) for pk in (1, 2, 3))


def taken(stack: ExitStack, places: Places, client: ApiClient) -> bool:
    return stack.enter_context(places.taken(client))


def test_one_client_has_half_of_the_places_and_all_have_no_more_than_there_are():
    places = Places(4)
    with ExitStack() as stack:
        assert [taken(stack, places, ACME) for _ in range(3)] == [True, True, False]
        assert [taken(stack, places, BETA) for _ in range(2)] == [True, True]
        assert not taken(stack, places, CARS)
    with ExitStack() as stack:
        assert [taken(stack, places, ACME) for _ in range(3)] == [True, True, False]


def test_a_place_is_given_back_whatever_happens():
    places = Places(1)
    with pytest.raises(KeyError), places.taken(ACME):
        raise KeyError
    with places.taken(ACME) as is_free:
        assert is_free


def test_a_process_of_one_thread_has_none():
    with Places(0).taken(ACME) as is_free:
        assert not is_free


def test_without_a_place_the_answer_comes_at_once_and_says_so(acme, monkeypatch):
    path = f"/orders/{acme.place().json()['id']}"
    placed = acme.get(path).json()
    monkeypatch.setattr(waiting.places, "_places", 0)
    began = time.monotonic()

    answer = acme.get(path, wait=30)

    assert time.monotonic() - began < 15
    assert (answer.status_code, answer.json()) == (200, placed)
    assert answer["Preference-Applied"] == "wait=0"
    assert answer["Retry-After"] == "5"


def test_waiting_request_occupies_one_place_until_answered(acme, monkeypatch):
    placed = acme.place().json()
    seen: list[int] = []

    def wait(order: object, seconds: float) -> object:
        seen.append(waiting.places._waiting[acme.client.pk])
        return placed

    monkeypatch.setattr(orders.reading, "when_changed", wait)

    for seconds in (20, 0):
        answer = acme.get(f"/orders/{placed['id']}", wait=seconds)
        assert "Preference-Applied" not in answer
    assert seen == [1]
    assert not waiting.places._waiting


def test_the_server_has_time_and_threads_for_them(monkeypatch):
    monkeypatch.setattr(waiting, "places", Places(1))
    monkeypatch.setattr(DatabaseWrapper, "patience", None)
    config = runpy.run_path(str(ROOT / "gunicorn.conf.py"))

    config["post_worker_init"](SimpleNamespace(cfg=SimpleNamespace(threads=config["threads"])))

    assert config["timeout"] > orders.LONGEST_WAIT_SECONDS
    assert 0 < waiting.places._places < config["threads"]
    assert DatabaseWrapper.patience == config["DATABASE_SECONDS"] > 15, "of a statement"
