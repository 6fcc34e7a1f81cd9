"""What is typed above a list, as the list's own filters."""

from datetime import timedelta

import pytest

from workers.desk.rules.list_query import QueryError, parse, period


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("", {}),
        ("Ada", {"q": "Ada"}),
        ("state:error", {"state": "error"}),
        ("STATE:error", {"state": "error"}),
        (
            "state:error agent:payment.* paused since:1h ref:ch_123",
            {
                "state": "error",
                "with_agent": "payment.*",
                "paused": "yes",
                "since": "1h",
                "q": "ch_123",
            },
        ),
        ("Ada Lovelace step:charge_payment", {"q": "Ada Lovelace", "step": "charge_payment"}),
        ("needs:someone workflow:fulfilment fault:http_400", {
            "needs": "someone", "workflow": "fulfilment", "fault": "http_400",
        }),
        ("job:12:failed_again incident:7", {"job": "12:failed_again", "incident": "7"}),
        # Keys, mail addresses and what is quoted are no words of ours.
        ("0b1e:3:1", {"q": "0b1e:3:1"}),
        ("ch:123", {"q": "ch:123"}),
        ('"state:error"', {"q": "state:error"}),
        ("state:error state:error", {"state": "error"}),
    ],
)  # fmt: skip
def test_what_is_typed_becomes_filters(text, params):
    assert parse(text).params == params


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("state:eror", "state: must be one of pending, processing"),
        ("stat:error", "stat: is no word of a list. Did you mean state:?"),
        ("agent:", "agent: needs a value behind it"),
        ("since:yesterday", "since: must be a number with m, h or d, such as 1h, got yesterday."),
        ("since:٣h", "since: must be a number"),
        ("job:x", "job: must be a number, got x."),
        ("state:error state:pending", "state: is there twice. Leave one."),
        ("needs:me", "needs: must be one of someone, error, alert, expired, got me."),
    ],
)
def test_the_word_that_is_wrong_is_named(text, says):
    with pytest.raises(QueryError) as error:
        parse(text)
    assert str(error.value).startswith(says)


def test_a_plain_search_is_told_apart():
    assert parse("Ada").is_plain
    assert parse("").is_plain
    assert not parse("Ada paused").is_plain


@pytest.mark.parametrize(
    ("text", "means"),
    [("90m", timedelta(minutes=90)), ("1h", timedelta(hours=1)), ("7d", timedelta(days=7)),
     ("", None), ("h", None), ("1y", None), ("99999d", None)],
)  # fmt: skip
def test_a_period_is_a_number_with_a_unit(text, means):
    assert period(text) == means
