"""Answers of remote services over HTTP: the token is the right to answer, once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.integration.conftest import only, reread
from workers.models import Process, Step
from workers.testing import Wire

Problem = Callable[[Any, int], dict[str, Any]]


def post(token: str, body: Any) -> Any:
    return Client().post(
        f"/api/v1/callbacks/{token}", json.dumps(body), content_type="application/json"
    )


def test_an_answer_ends_the_step_and_a_repeated_one_does_nothing(
    asked: tuple[Process, str], wire: Wire
) -> None:
    process, token = asked
    assert post(token, {"result": {"paid": True}}).json() == {"outcome": "accepted"}
    assert post(token, {"result": {"paid": False}}).json() == {"outcome": "repeated"}
    wire.run_until_idle()
    assert only(process, "ask").result == {"paid": True}
    assert wire.states(process)["then"] == "processed"


def test_a_refusal_undoes_the_process(asked: tuple[Process, str], wire: Wire) -> None:
    process, token = asked
    fault = {"kind": "refused", "code": "declined", "message": "no"}
    assert post(token, {"fault": fault}).json() == {"outcome": "accepted"}
    wire.run_until_idle()
    assert reread(process).state == "compensated"


@pytest.mark.parametrize(
    ("said", "happened"),
    [
        ({"kind": "permanent"}, True),
        ({"kind": "permanent", "no_effect": None}, True),
        ({"kind": "permanent", "no_effect": False}, True),
        ({"kind": "permanent", "no_effect": True}, False),
        ({"kind": "transient", "no_effect": True}, False),
        ({"kind": "refused"}, False),
        ({"kind": "refused", "no_effect": False}, True),
    ],
    ids=str,
)
def test_a_service_vouches_for_what_did_not_happen_as_an_agent_does(
    asked: tuple[Process, str], wire: Wire, said: dict[str, Any], happened: bool
) -> None:
    process, token = asked
    post(token, {"fault": {"code": "broken", "message": "no", **said}})
    assert only(process, "ask").may_have_effect is happened
    if said["kind"] == "refused":
        wire.run_until_idle()
        undone = Step.objects.filter(process=process, name="unask", state="processed")
        assert undone.exists() is happened


@pytest.mark.parametrize("value", ["true", 1, []])
def test_what_a_service_vouches_for_is_a_truth_value(
    asked: tuple[Process, str], problem: Problem, value: Any
) -> None:
    before = list(Step.objects.values())
    fault = {"kind": "permanent", "code": "x", "no_effect": value}
    told = problem(post(asked[1], {"fault": fault}), 422)
    assert told["errors"][0]["field"] == "fault.no_effect"
    assert list(Step.objects.values()) == before


def test_progress_is_noted(asked: tuple[Process, str]) -> None:
    process, token = asked
    assert post(token, {"progress": {"percent": 40}}).json() == {"outcome": "noted"}
    deferral = only(process, "ask").deferral
    assert deferral is not None
    assert deferral["progress"] == {"percent": 40}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"result": {}, "progress": {}}, 422),
        ({"result": []}, 422),
        ({"answer": {}}, 422),
        ({"fault": {"kind": "unavailable", "code": "x"}}, 422),
        ({"fault": {"kind": "refused", "code": ""}}, 422),
        ({"result": {"a": "\u0000"}}, 400),
    ],
    ids=str,
)
def test_what_is_no_answer_changes_nothing(
    asked: tuple[Process, str], problem: Problem, body: Any, status: int
) -> None:
    before = list(Step.objects.values())
    problem(post(asked[1], body), status)
    assert list(Step.objects.values()) == before


@pytest.mark.fault("F41")
@pytest.mark.parametrize("spoil", [lambda token: token + "x", lambda token: "x:1:1:" + token[-43:]])
def test_a_token_of_ones_own_making_is_none(
    asked: tuple[Process, str], problem: Problem, spoil: Callable[[str], str]
) -> None:
    before = list(Step.objects.values())
    problem(post(spoil(asked[1]), {"result": {}}), 404)
    assert list(Step.objects.values()) == before
