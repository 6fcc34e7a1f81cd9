"""The judge finds each fault in a ledger that was made up."""

import pytest

from tests.shape import ledger
from tests.shape.ledger import Call

WINDOWS, RATES = {"card": 1}, {"card": 2}


def call(what="a", key="k", begin=0.0, end=1.0, limit="7", agent="card"):
    return Call(agent, limit, what, key, begin, end)


def test_ledger_is_read_as_it_was_written(tmp_path, monkeypatch):
    path = tmp_path / "ledger"
    monkeypatch.setenv(ledger.FILE, str(path))
    ledger._file.cache_clear()
    ledger.write("begin", "card", "", "a film", "k", 2e9)
    ledger.write("begin", "card", "7", "b", "l", 2e9)
    ledger.write("end", "card", "7", "b", "l", 2e9)
    ledger._file.cache_clear()

    whole, cut = sorted(ledger.read(path), key=lambda one: one.end)
    assert (whole.what, whole.limit, whole.end < 2e9) == ("b", "7", True)
    # Its process died: it may have gone on until its answer was due.
    assert (cut.what, cut.limit, cut.end) == ("a_film", "-", 2e9)


@pytest.mark.parametrize(
    ("calls", "is_bad"),
    [
        ([call(), call("b", "l", 1, 2)], False),
        ([call(), call("b", "l", 0.5, 2)], True),
        ([call(), call("b", "l", 0.5, 2, limit="8")], False),
    ],
)
def test_calls_at_once_are_counted_for_each_key(calls, is_bad):
    assert bool(ledger.over(ledger.at_once(calls), WINDOWS, "at once")) == is_bad


@pytest.mark.parametrize(("begins", "is_bad"), [((0, 0.5, 1.0), False), ((0, 0.5, 0.9), True)])
def test_begins_are_counted_in_each_second(begins, is_bad):
    calls = [call(str(at), str(at), at, at + 0.01) for at in begins]
    assert bool(ledger.over(ledger.a_second(calls, 0), RATES, "a second")) == is_bad


def test_second_key_for_one_thing_is_a_second_effect():
    assert ledger.doubled([call(), call()]) == []
    assert ledger.doubled([call(), call(key="l")]) == ["card did a 2 times"]


def test_what_was_never_done_is_named():
    assert ledger.missing([call()], "card", ["a", "b"]) == ["card never did b"]


def test_spans_of_one_key_must_not_overlap():
    assert ledger.overlapping([("7", 0, 1), ("7", 1, 2), ("8", 0, 2)]) == []
    assert ledger.overlapping([("7", 0, 1), ("7", 0.5, 2)]) == ["7 had two at once, 1 times"]
