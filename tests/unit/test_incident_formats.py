"""Messages about incidents in the form that webhooks, chats and PagerDuty take."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import translation

from workers.desk.notify import incident_formats as formats
from workers.desk.notify import incident_message
from workers.desk.notify.incident_message import IncidentFacts, IncidentMessage

AT = datetime(2026, 7, 1, 12, 0, 30, tzinfo=UTC)
FACTS = IncidentFacts(
    event="opened",
    key="process_error-0a1b2c3d4e5f",
    kind="failure",
    title="charge of shop fails for good: answered 400",
    severity=2,
    state="open",
    agent="payment.charge",
    processes=150,
    money="1234.50",
    opened_at=AT - timedelta(minutes=5),
    last_at=AT,
    remedy="Mend the cause.",
    url="https://shop.example/admin/desk/incident/7/change/",
)
OPENED = IncidentMessage("msg_1", "opened", AT, (FACTS,))
TEST = IncidentMessage("msg_3", "test", AT)
HOSTILE = "<!channel> <https://evil.example|pay> [here](https://evil.example) \u202eevil\n*x*"


def happened(event: str) -> IncidentMessage:
    return IncidentMessage("msg_1", event, AT, (replace(FACTS, event=event),))


def digest(count: int = 2) -> IncidentMessage:
    listed = tuple(replace(FACTS, key=f"key-{n}", title=f"Cause {n}") for n in range(count))
    return IncidentMessage("msg_2", "digest", AT, listed)


def test_a_webhook_has_type_timestamp_and_data():
    assert formats.webhook(OPENED, "") == {
        "type": "incident.opened",
        "timestamp": "2026-07-01T12:00:30Z",
        "data": {
            "key": "process_error-0a1b2c3d4e5f",
            "kind": "failure",
            "title": "charge of shop fails for good: answered 400",
            "message": None,
            "severity": "error",
            "state": "open",
            "agent": "payment.charge",
            "processes": 150,
            "waiting": None,
            "money": "1234.50",
            "since": "2026-07-01T11:55:30Z",
            "last": "2026-07-01T12:00:30Z",
            "remedy": "Mend the cause.",
            "url": "https://shop.example/admin/desk/incident/7/change/",
        },
    }


def test_what_is_not_known_is_null():
    unknown = replace(FACTS, agent="", money=None, url="", remedy="")
    data = formats.webhook(replace(OPENED, incidents=(unknown,)), "")["data"]
    assert [data[name] for name in ("agent", "money", "url", "remedy")] == [None] * 4


def test_a_digest_lists_what_happened_to_each():
    told = formats.webhook(digest(), "")
    assert told["type"] == "incident.digest"
    assert [(one["event"], one["key"]) for one in told["data"]["incidents"]] == [
        ("opened", "key-0"),
        ("opened", "key-1"),
    ]


def test_slack_makes_no_link_of_what_others_wrote():
    link = "<https://evil.example|x> @here"
    evil = replace(FACTS, title="Log in at www.evil.example", message=link)
    for message in (replace(OPENED, incidents=(evil,)), digest(), TEST):
        for block in formats.slack(message, "")["blocks"]:
            assert block["text"]["verbatim"] is True
    (block,) = formats.slack(replace(OPENED, incidents=(evil,)), "")["blocks"]
    assert "&lt;https://evil.example|x&gt;" in block["text"]["text"]


def test_route_test_message_is_marked_as_test():
    assert formats.webhook(TEST, "")["type"] == "incident.test"
    assert "route works" in formats.slack(TEST, "")["text"]
    assert "tested this route" in json.dumps(formats.teams(TEST, ""))


@pytest.mark.parametrize(
    ("event", "action"),
    [
        ("opened", "trigger"),
        ("repeat", "trigger"),
        ("acknowledged", "acknowledge"),
        ("resolved", "resolve"),
    ],
)
def test_pagerduty_is_told_of_the_same_incident_under_its_key(event, action):
    told = formats.pagerduty(happened(event), "the-key")

    assert (told["routing_key"], told["event_action"]) == ("the-key", action)
    assert told["dedup_key"] == FACTS.key
    assert ("payload" in told) == (action == "trigger")


def test_pagerduty_s_event_has_what_its_api_asks_for():
    told = formats.pagerduty(OPENED, "the-key")
    payload = told["payload"]
    assert payload["summary"] == "New incident: charge of shop fails for good: answered 400"
    assert payload["source"] == "payment.charge"
    assert payload["severity"] == "error"
    assert payload["timestamp"] == "2026-07-01T12:00:30Z"
    assert told["links"] == [{"href": FACTS.url, "text": "Open"}]


@pytest.mark.parametrize(("severity", "name"), [(1, "critical"), (2, "error"), (3, "info")])
def test_a_severity_is_one_of_pagerduty_s(severity, name):
    message = replace(OPENED, incidents=(replace(FACTS, severity=severity),))
    assert formats.pagerduty(message, "k")["payload"]["severity"] == name


def test_a_digest_is_as_grave_as_its_gravest_and_an_incident_of_its_own():
    message = digest(3)
    grave = replace(message.incidents[1], severity=1)
    told = formats.pagerduty(replace(message, incidents=(*message.incidents, grave)), "k")
    assert told["payload"]["severity"] == "critical"
    assert told["dedup_key"] == "msg_2"
    assert formats.pagerduty(TEST, "k")["payload"]["severity"] == "info"


def test_no_key_and_no_summary_is_longer_than_pagerduty_takes():
    long = replace(FACTS, key="k" * 300, title="t" * 3000)
    told = formats.pagerduty(replace(OPENED, incidents=(long,)), "k")
    assert len(told["dedup_key"]) <= formats.LONGEST_KEY
    assert len(told["payload"]["summary"]) <= formats.LONGEST_SUMMARY
    assert formats.dedup_key("k" * 300) != formats.dedup_key("k" * 301)


def test_slack_has_text_for_the_phone_and_a_block_for_each():
    told = formats.slack(OPENED, "")
    assert told["text"] == "New incident: charge of shop fails for good: answered 400"
    (block,) = told["blocks"]
    assert "So far: 150 processes." in block["text"]["text"]
    assert "Worth: 1,234.50." in block["text"]["text"]
    assert f"<{FACTS.url}|Open>" in block["text"]["text"]
    assert len(formats.slack(digest(3), "")["blocks"]) == 3


def test_teams_gets_an_adaptive_card():
    told = formats.teams(OPENED, "")
    (attachment,) = told["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open", "url": FACTS.url}]
    assert "actions" not in formats.teams(digest(), "")["attachments"][0]["content"]


@pytest.mark.parametrize("message", [digest(500), replace(OPENED, incidents=(FACTS,) * 1)])
def test_a_message_stays_small(message):
    for form in (formats.slack, formats.teams, formats.pagerduty):
        assert len(formats.encode(form(message, ""))) < 60_000
    assert len(formats.slack(message, "")["blocks"]) <= 50, "Slack takes no more"


def test_of_many_it_says_how_many_are_not_named():
    text = incident_message.text(digest(40))
    assert text.count("New incident: ") == incident_message.MOST_NAMED
    assert text.rstrip().endswith("And 10 more.")
    assert incident_message.headline(digest(40)) == "40 incidents"


def test_what_a_remote_wrote_is_text_everywhere():
    message = replace(OPENED, incidents=(replace(FACTS, title=HOSTILE, agent=HOSTILE),))
    slack = json.dumps(formats.slack(message, ""), ensure_ascii=False)
    assert "<!channel>" not in slack
    assert "<https://evil" not in slack
    texts = [
        *(_texts(formats.slack(message, "")), _texts(formats.teams(message, ""))),
        [incident_message.headline(message), incident_message.text(message)],
    ]
    assert not any("\u202e" in text for some in texts for text in some)
    assert "\n" not in incident_message.headline(message)
    teams = " ".join(_texts(formats.teams(message, "")))
    assert "[here](https" not in teams
    assert r"\[here\]\(https" in teams


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def test_the_end_needs_no_remedy():
    assert "What to do" in incident_message.text(OPENED)
    assert "What to do" not in incident_message.text(happened("resolved"))


def test_every_event_has_a_headline_in_every_language():
    for language in ("en", "fr"):
        with translation.override(language):
            for event in ("opened", "repeat", "acknowledged", "resolved"):
                assert FACTS.title in incident_message.headline(happened(event))
