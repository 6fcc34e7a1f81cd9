"""What alerts say: a code with parameters, put into words when it is read."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from django.utils.functional import Promise

from workers.definitions import alert_kinds, delivery_problems
from workers.definitions.alert_kinds import AlertKind, Choice, IncidentKind, Severity, Text
from workers.desk.texts.alert_texts import in_words, message, title
from workers.store import alert_resolution

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC).isoformat()


def test_an_alert_says_its_text_with_its_parameters():
    params = {"subject": "Order 7", "step": "charge", "reason": "answered 400"}
    said = "Order 7: step charge failed for good: answered 400"
    assert message("process_error", params) == said


def test_alert_of_earlier_version_shows_its_stored_text():
    assert message("process_error", None, "Order 7 failed") == "Order 7 failed"


def test_alert_raised_with_text_shows_that_text():
    assert message("of_an_app", {"text": "100 % of the paper is out"}) == (
        "100 % of the paper is out"
    )


def test_one_of_a_code_without_a_message_says_its_title():
    assert message("of_an_app", {"message": "Look"}) == "of_an_app: Look"


def test_an_application_gives_its_own_message(monkeypatch):
    monkeypatch.setattr(alert_kinds, "_kinds", {})
    kind = AlertKind(
        *("paper_out", IncidentKind.OTHER, Severity.ERROR, "No paper", "Bring paper."),
        message="Press %(press)s has no paper",
    )
    alert_kinds.register_alert_kind(kind)
    assert message("paper_out", {"press": 3}) == "Press 3 has no paper"


def test_a_missing_reason_is_said_to_be_missing():
    params = {"subject": "Order 7", "step": "charge", "reason": ""}
    assert message("process_error", params).endswith(": no reason was given")
    assert message("answer_overdue", params).endswith(" still waits for an answer")


def test_sentences_are_said_in_the_order_in_which_they_are_named():
    params = {"says": ["late", "stuck", "watched"], "duty": "sweep", "seconds": 9, "seen_at": AT}
    assert message("duty_overdue", params) == (
        "The sweep was overdue at 2026-03-01 12:00:00 UTC: last done 9 s before. A worker is"
        " running it and has not finished: is the database slow? Noticed by `manage.py sas watch`."
    )


def test_a_sentence_of_newer_code_is_left_out():
    params = {"says": ["late", "of_tomorrow"], "duty": "sweep", "seconds": 9, "seen_at": AT}
    assert message("duty_overdue", params) == (
        "The sweep was overdue at 2026-03-01 12:00:00 UTC: last done 9 s before."
    )


def test_instants_are_told_in_the_reader_s_time_zone():
    params = {"agent": "pay", "opened_at": AT}
    with timezone.override(ZoneInfo("Asia/Tokyo")):
        assert "since 2026-03-01 21:00:00 JST: no reason was given." in message(
            "breaker_open", params
        )
    assert "since soon: no reason" in message("breaker_open", {**params, "opened_at": "soon"})


def test_a_problem_of_a_delivery_is_put_into_words_where_it_stands():
    params = {"route": 3, "problem": {"code": "answered", "params": {"status": 503}}}
    assert "be notified of incidents: answered 503. Fix it" in message(
        "route_undeliverable", params
    )


@pytest.mark.parametrize("said", ["must be a dict, got list.", "must be a dict, got list"])
def test_a_text_that_ends_by_itself_ends_its_sentence_once(said):
    found = {"probe": "settings", "finding": said, "why": "A system check."}
    assert message("probe_failed", found) == ("settings: must be a dict, got list. A system check.")
    assert "incidents: must be a dict, got list. Fix it" in message(
        "route_undeliverable", {"route": 3, "reason": said}
    )


def test_a_title_has_no_mark_where_processes_differ():
    params = {"step": "pay", "workflow": "race", "message": "got #, or C# of #"}
    assert title("process_error", params) == "pay of race fails for good: got …, or C# of …"


def test_the_text_is_looked_up_when_it_is_read():
    texts = [
        text for kind in alert_kinds.alert_kinds() if kind.message for text in _texts(kind.message)
    ]
    assert [text for text in texts if not isinstance(text, Promise)] == []


def _texts(message: Choice) -> list[Text]:
    return list(message.values()) if isinstance(message, Mapping) else [message]


def test_each_alert_that_the_engine_closes_has_its_texts():
    assert set(alert_resolution.ENDED) <= {kind.code for kind in alert_kinds.alert_kinds()}


def sentences() -> Iterator[tuple[str, str]]:
    for kind in alert_kinds.alert_kinds():
        if kind.message:
            yield from ((kind.code, str(text)) for text in _texts(kind.message))


def test_every_kind_of_the_engine_s_has_a_message():
    assert [kind.code for kind in alert_kinds.alert_kinds() if not kind.message] == []


@pytest.mark.parametrize(("code", "text"), list(sentences()))
def test_every_message_takes_parameters_by_their_names_only(code, text):
    assert not re.findall(r"%(?!\()", text)
    assert in_words(text, {})


@pytest.mark.parametrize("code", list(delivery_problems.TEXTS))
def test_every_problem_of_a_delivery_has_its_words(code):
    assert delivery_problems.text_of(code, {"status": 503, "error": "OSError"})


@pytest.mark.parametrize(
    ("problem", "status", "answer", "said"),
    [
        (None, 202, "", "202"),
        (None, 200, "ok", "200 ok"),
        ({"code": "late", "params": {}}, None, "", "no answer in time"),
        ({"code": "answered", "params": {"status": 500}}, 500, "oops", "answered 500: oops"),
        (None, None, "answered 500: of a version before", "answered 500: of a version before"),
        ({"code": "of_tomorrow", "params": {"text": "newer"}}, None, "", "newer"),
    ],
)
def test_how_a_delivery_went_is_told_in_one_line(problem, status, answer, said):
    assert delivery_problems.answer_text(problem, status, answer) == said
