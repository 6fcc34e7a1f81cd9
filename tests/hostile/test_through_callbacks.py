"""The corpus at the callbacks' door: nothing but a well-formed answer with a good token counts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.hostile import corpus
from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.models import Journal, Step
from workers.supervisor import beat_schedule
from workers.testing import Wire

#: Answers in good JSON with one thing wrong.
WRONG: dict[str, Any] = {
    "null": None,
    "a list": [],
    "empty": {},
    "all at once": {"result": {}, "fault": {"kind": "refused", "code": "x"}, "progress": {}},
    "two": {"result": {}, "progress": {}},
    "another": {"answer": {}},
    "one more": {"result": {}, "state": "processed"},
    "result null": {"result": None},
    "result a list": {"result": []},
    "result a text": {"result": "paid"},
    "progress a number": {"progress": 40},
    "fault a text": {"fault": "declined"},
    "a kind of one's own": {"fault": {"kind": "unavailable", "code": "x"}},
    "a kind of two lines": {"fault": {"kind": "refused\n", "code": "x"}},
    "no code": {"fault": {"kind": "refused"}},
    "an empty code": {"fault": {"kind": "refused", "code": " "}},
    "a long code": {"fault": {"kind": "refused", "code": "x" * 61}},
    "a code with an escape": {"fault": {"kind": "refused", "code": "\x1b[2J"}},
    "a long message": {"fault": {"kind": "refused", "code": "x", "message": "x" * 501}},
    "a tries": {"fault": {"kind": "refused", "code": "x", "tries": 7}},
}
TOKENS = {
    "nothing signed": "x",
    "no key": ":" + "A" * 43,
    "a colon": ":",
    "NUL": "%00",
    "a pickle": "gASVBwAAAAAAAAB9lC4:x",
    "accents": "%C3%BC:x",
    "no UTF-8": "%FF:x",
    "very long": "x" * 8000,
    "SQL": "'%20OR%20'1'='1:x",
}


@pytest.fixture
def waiting(db: None, wire: Wire) -> str:
    """The token of a step that waits for an answer."""
    beat_schedule.ensure_flow()
    tokens: list[str] = []

    def defer(call: Call) -> Deferred:
        tokens.append(call.callback_token)
        return Deferred(within_seconds=60)

    toy.script["toy.alpha"] = defer
    submit("toy_answered", subject="Toy 1", input={})
    wire.run_until_idle()
    return tokens[0]


@pytest.fixture
def post(waiting: str) -> Callable[..., Any]:
    """Post an answer that is refused; nothing of any step or of the journal changes."""

    def posted(body: Any, token: str = waiting, **headers: str) -> dict[str, Any]:
        before = list(Step.objects.values()), list(Journal.objects.values())
        raw = body if isinstance(body, bytes) else corpus.text(body)
        answer = Client().post(
            f"/api/v1/callbacks/{token}", raw, content_type="application/json", headers=headers
        )
        assert (list(Step.objects.values()), list(Journal.objects.values())) == before
        assert answer["Content-Type"] == "application/problem+json"
        text = answer.content.decode()
        assert "Traceback" not in text
        assert waiting not in text
        said: dict[str, Any] = json.loads(text)
        assert said["status"] == answer.status_code
        return said

    return posted


@pytest.mark.fault("F26")
@pytest.mark.parametrize("name", corpus.UNREADABLE)
def test_a_body_that_is_no_json_of_ours(post: Callable[..., Any], name: str) -> None:
    body, word = corpus.UNREADABLE[name]
    said = post(body)
    assert said["status"] == 400
    assert word in said["detail"]


@pytest.mark.fault("F26")
@pytest.mark.parametrize("name", corpus.OVERSIZED)
def test_a_body_that_is_too_large(post: Callable[..., Any], name: str) -> None:
    assert post(corpus.OVERSIZED[name])["status"] == 413


@pytest.mark.fault("F26")
@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_is_none(post: Callable[..., Any], name: str) -> None:
    assert post(WRONG[name])["status"] == 422


@pytest.mark.fault("F41")
@pytest.mark.parametrize("name", TOKENS)
def test_a_token_that_is_none(post: Callable[..., Any], name: str) -> None:
    assert post({"result": {}}, TOKENS[name])["status"] == 404


@pytest.mark.fault("F26")
@pytest.mark.parametrize("key", ["1e999", "-1e999", "NaN"])
def test_a_result_with_a_number_that_is_none(post: Callable[..., Any], key: str) -> None:
    assert post(f'{{"result": {{"a": [{key}]}}}}'.encode())["status"] == 400


@pytest.mark.fault("F26")
def test_a_result_that_would_have_to_be_unpacked(post: Callable[..., Any]) -> None:
    assert post({"result": {}}, **{"Content-Encoding": "gzip"})["status"] == 415


@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", corpus.LEGAL)
def test_a_text_in_a_result_is_a_text(waiting: str, wire: Wire, name: str) -> None:
    text = corpus.LEGAL[name]
    answer = Client().post(
        f"/api/v1/callbacks/{waiting}",
        corpus.text({"result": {text: [text, {"a": text}]}}),
        content_type="application/json",
    )
    assert answer.json() == {"outcome": "accepted"}
    wire.run_until_idle()
    assert Step.objects.get(name="ask").result == {text: [text, {"a": text}]}
