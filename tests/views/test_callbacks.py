"""Answers of remote services at both doors: a well-formed one with a good token counts, once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings

from tests.hostile import corpus
from tests.integration.conftest import only, reread
from workers.models import Journal, Process, Step

pytestmark = pytest.mark.django_db
Asked = tuple[Process, str]
Post = Callable[..., Any]
#: The engine's own, by ``include("workers.urls")``, and the shop's.
DOORS = {"engine": "/sas/callbacks/", "shop": "/api/v1/callbacks/"}


@pytest.fixture(params=DOORS)
def post(request, settings, asked) -> Post:
    if request.param == "engine":
        settings.ROOT_URLCONF = "tests.views.urls"

    def posted(body: Any, token: str = asked[1], **headers: str) -> Any:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        # As a browser's cookies and middleware would have it: no CSRF token, no login.
        return Client(enforce_csrf_checks=True).post(
            DOORS[request.param] + token, raw, content_type="application/json", headers=headers
        )

    return posted


@pytest.fixture
def refused(post, asked) -> Callable[..., str]:
    """Post what is refused with a status: it changes no step and no journal, and tells nothing."""

    def posted(status: int, body: Any, *token: str, **headers: str) -> str:
        before = list(Step.objects.values()), list(Journal.objects.values())
        answer = post(body, *token, **headers)
        assert (list(Step.objects.values()), list(Journal.objects.values())) == before
        text = str(answer.content.decode())
        assert answer.status_code == json.loads(text)["status"] == status, text
        assert answer["Content-Type"] == "application/problem+json"
        assert "Traceback" not in text
        assert asked[1] not in text
        return text

    return posted


def test_an_answer_ends_the_step_and_a_repeated_one_does_nothing(post, asked, wire):
    assert post({"result": {"paid": True}}).json() == {"outcome": "accepted"}
    assert post({"result": {"paid": False}}).json() == {"outcome": "repeated"}
    wire.run_until_idle()
    assert only(asked[0], "ask").result == {"paid": True}
    assert wire.states(asked[0])["then"] == "processed"


@pytest.mark.parametrize(("kind", "state"), [("refused", "compensated"), ("permanent", "error")])
def test_a_fault_is_as_the_agent_would_have_raised_it(kind, state, post, asked, wire):
    fault = {"kind": kind, "code": "declined", "message": "no"}
    assert post({"fault": fault}).json() == {"outcome": "accepted"}
    wire.run_until_idle()
    assert reread(asked[0]).state == state
    told = only(asked[0], "ask").fault
    assert told is not None
    assert (told["code"], told["message"]) == ("declined", "no")


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
    post, asked, wire, said, happened
):
    post({"fault": {"code": "broken", "message": "no", **said}})
    assert only(asked[0], "ask").may_have_effect is happened
    if said["kind"] == "refused":
        wire.run_until_idle()
        undone = Step.objects.filter(process=asked[0], name="unask", state="processed")
        assert undone.exists() is happened


def test_progress_is_noted(post, asked):
    assert post({"progress": {"percent": 40}}).json() == {"outcome": "noted"}
    deferral = only(asked[0], "ask").deferral
    assert deferral is not None
    assert deferral["progress"] == {"percent": 40}


def fault(**said: Any) -> dict[str, Any]:
    return {"fault": {"kind": "refused", "code": "x", **said}}


#: What is no answer, with the status it gets and a word of what is said of it.
REFUSED: list[tuple[Any, int, str]] = [
    ({}, 422, "exactly one"),
    ({"result": {}, "progress": {}}, 422, "exactly one"),
    ({"result": {}, "progress": {}, **fault()}, 422, "exactly one"),
    ({"answer": {}}, 422, "answer"),
    ({"result": {}, "state": "processed"}, 422, "state"),
    *((value, 422, "body") for value in ([], None)),
    *(({"result": value}, 422, "result") for value in (None, [], "paid")),
    ({"progress": 40}, 422, "progress"),
    ({"fault": "declined"}, 422, "fault"),
    *((fault(kind=kind), 422, "fault.kind") for kind in ("unavailable", "refused\n")),
    ({"fault": {"kind": "refused"}}, 422, "code"),
    *((fault(code=code), 422, "fault.code") for code in ("", " ", "a\nb", "\x1b[2J")),
    (fault(code="x" * 61), 422, "fault.code must have 60"),
    (fault(message="m" * 501), 422, "got 501"),
    (fault(tries=7), 422, "tries"),
    *((fault(no_effect=value), 422, "fault.no_effect") for value in ("true", 1, [])),
    (b'{"result": {"a": NaN}}', 400, "NaN"),
    *((f'{{"result": {{"a": [{sign}1e999]}}}}'.encode(), 400, "") for sign in ("", "-")),
    (b'{"result": {}, "result": {}}', 400, "given twice"),
    ({"result": {"a": "\x00"}}, 400, "NUL"),
    ({"result": {"a": "x" * 65_536}}, 413, "larger than 65536 bytes"),
    *((body, 400, word) for body, word in corpus.UNREADABLE.values()),
    *((body, 413, "larger than") for body in corpus.OVERSIZED.values()),
]


@pytest.mark.fault("F26")
@pytest.mark.parametrize(("body", "status", "says"), REFUSED, ids=lambda one: str(one)[:40])
def test_what_is_no_answer_changes_nothing(refused, body, status, says):
    assert says in refused(status, body)


@pytest.mark.fault("F26")
def test_a_result_that_would_have_to_be_unpacked(refused):
    refused(415, {"result": {}}, **{"Content-Encoding": "gzip"})


@pytest.mark.fault("F41")
@pytest.mark.parametrize("spoil", [lambda token: token + "x", lambda token: "x:1:1:" + token[-43:]])
def test_a_token_of_ones_own_making_is_none(refused, asked, spoil):
    refused(404, {"result": {}}, spoil(asked[1]))


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


@pytest.mark.fault("F41")
@pytest.mark.parametrize("name", TOKENS)
def test_a_token_that_is_none(refused, name):
    refused(404, {"result": {}}, TOKENS[name])


@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", corpus.LEGAL)
def test_a_text_in_a_result_is_a_text(post, asked, wire, name):
    text = corpus.LEGAL[name]
    assert post({"result": {text: [text, {"a": text}]}}).json() == {"outcome": "accepted"}
    wire.run_until_idle()
    assert only(asked[0], "ask").result == {text: [text, {"a": text}]}


@pytest.mark.parametrize("post", ["engine"], indirect=True)
def test_a_project_that_wants_a_login_everywhere_wants_none_here(post, settings):
    middleware = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    with override_settings(MIDDLEWARE=middleware):
        assert post({"result": {}}).json() == {"outcome": "accepted"}


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_committed_whatever_the_project_makes_of_requests(post, asked):
    connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        assert post({"result": {"n": 1}}).json() == {"outcome": "accepted"}
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = False
    assert only(asked[0], "ask").result == {"n": 1}
