"""Until when a key is taken, when its process may be replaced, and which values are refused."""

import re
from datetime import timedelta

import pytest

from tests.unit.build import NOW, a_process, a_step
from workers.exceptions import BadText
from workers.models import Process
from workers.rules.rows import NewProcess
from workers.rules.submission_keys import FOR_EVER, LONGEST, check, has_begun, is_taken, until
from workers.states import FINAL_PROCESS_STATES, ProcessState

HOUR = timedelta(hours=1)


def wanted(*keys, **more):
    return [NewProcess("Toy", {}, submission_key=key, **more) for key in keys]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("", "submission_key must not be blank, got ''. Give None for no key."),
        (" ", "submission_key must not be blank, got ' '."),
        ("k" * 401, "submission_key must have 400 characters at most, got 401. Shorten it."),
        ("a\x00", "submission_key must be text without NUL"),
        (7, "submission_key must be text, got 7."),
    ],
)
def test_bad_key_is_refused_by_name(key, says):
    with pytest.raises(BadText, match=re.escape(says)):
        check(wanted(key))


@pytest.mark.parametrize(
    ("on_conflict", "key_for", "kind", "says"),
    [
        ("ignore", None, ValueError, "on_conflict must be return, refuse, replace, got 'ignore'."),
        (None, None, ValueError, "on_conflict must be return, refuse, replace, got None."),
        ("return", "for ever", ValueError, 'key_for must be "until ended", a timedelta or None'),
        ("return", 3600, TypeError, 'key_for must be "until ended", a timedelta or None, got 3600'),
        ("return", NOW.replace(tzinfo=None), TypeError, 'key_for must be "until ended"'),
        ("return", -HOUR, ValueError, "key_for must be more than 0 and at most 36500 days"),
        ("return", timedelta(0), ValueError, "key_for must be more than 0"),
        ("return", timedelta.max, ValueError, "Give None for ever."),
    ],
)
def test_bad_choice_is_refused_by_name(on_conflict, key_for, kind, says):
    with pytest.raises(kind, match=re.escape(says)):
        check(wanted("k", on_conflict=on_conflict, key_for=key_for))


def test_one_key_twice_in_a_call_is_refused_and_none_is_no_key():
    check(wanted("a", "b", None, None))
    with pytest.raises(ValueError, match="submission_key must differ within a call, got 'a' twice"):
        check(wanted("a", "b", "a"))


def test_limit_is_the_length_of_the_column():
    assert Process._meta.get_field("submission_key").max_length == LONGEST


@pytest.mark.parametrize(
    ("key_for", "expected"), [("until ended", None), (HOUR, NOW + HOUR), (None, FOR_EVER)]
)
def test_until_when_a_key_is_taken(key_for, expected):
    assert until(key_for, NOW) == expected


@pytest.mark.parametrize("state", ProcessState.values)
def test_key_without_an_instant_is_taken_while_its_process_is_not_final(state):
    assert is_taken(state, None, NOW) == (state not in FINAL_PROCESS_STATES)


@pytest.mark.parametrize("state", ["pending", "processed"])
def test_key_with_an_instant_is_taken_until_then_whatever_the_state(state):
    assert is_taken(state, NOW, NOW - timedelta(microseconds=1))
    assert not is_taken(state, NOW, NOW)
    assert is_taken(state, FOR_EVER, NOW)


@pytest.mark.parametrize(
    ("state", "steps", "expected"),
    [
        ("pending", ["pending", "waiting"], False),
        ("pending", ["skipped", "pending"], False),
        ("pending", ["processed", "pending"], True),
        ("pending", ["error", "waiting"], True),
        ("processing", ["pending", "waiting"], True),
        ("cancelled", ["cancelled"], True),
    ],
)
def test_process_has_begun_once_a_step_was_claimed_or_done_by_hand(state, steps, expected):
    rows = [a_step(str(index), step_state) for index, step_state in enumerate(steps)]
    assert has_begun(a_process(*rows, state=state)) is expected
