"""The admin's door: good and bad logins, and an end to guessing."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db.models import F
from django.test import Client

from sasproject.visitors import address_of
from workers.models import Alert

LOGIN = "/admin/login/"
HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def ann(db) -> Any:
    return get_user_model().objects.create_user("ann", password="correct horse", is_staff=True)


def log_in(password: str, name: str = "ann", *, address: str = HERE, **headers: str) -> Any:
    form = {"username": name, "password": password, "next": "/admin/"}
    return Client().post(LOGIN, form, REMOTE_ADDR=address, headers=headers)


def fail(times: int, **where: str) -> Any:
    answers = [log_in("wrong", **where) for _ in range(times)]
    return answers[-1]


def is_in(answer: Any) -> bool:
    return answer.status_code == 302 and answer.headers["Location"] == "/admin/"


@pytest.mark.parametrize(("name", "password"), [("ann", "wrong"), ("nobody", "correct horse")])
def test_a_bad_login_is_told_alike_whether_the_name_exists(ann, name, password):
    answer = log_in(password, name)
    assert answer.status_code == 200
    assert "Please enter the correct username and password" in answer.content.decode()
    assert "sessionid" not in answer.cookies


@pytest.mark.parametrize("changes", [{"is_staff": False}, {"is_active": False}])
def test_non_staff_or_inactive_user_cannot_log_in(ann, changes):
    get_user_model().objects.update(**changes)
    assert not is_in(log_in("correct horse"))


def test_a_login_leads_to_no_other_site(ann):
    form = {"username": "ann", "password": "correct horse", "next": "https://evil.example.org/"}
    assert Client().post(LOGIN, form).headers["Location"] == "/admin/"


def test_after_too_many_failures_a_good_password_is_not_looked_at(ann):
    assert fail(9).status_code == 200
    locked = fail(1)
    assert locked.status_code == 429
    assert "Nobody can log in under this name from here for 15 minutes" in locked.content.decode()
    assert locked["Retry-After"] == "900"
    assert "no-store" in locked["Cache-Control"]
    assert log_in("correct horse").status_code == 429


def test_lockout_is_by_user_name_and_address(ann):
    fail(10)
    assert log_in("correct horse").status_code == 429
    assert is_in(log_in("correct horse", address=ELSEWHERE))
    get_user_model().objects.create_user("bob", password="battery staple", is_staff=True)
    assert is_in(log_in("battery staple", "bob"))


def test_a_wait_is_over_when_it_is_over_and_no_try_makes_it_longer(ann):
    fail(10)
    began = AccessAttempt.objects.get().attempt_time
    fail(3)
    attempt = AccessAttempt.objects.get()
    assert (attempt.attempt_time, attempt.failures_since_start) == (began, 10)
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=15, seconds=1))
    assert is_in(log_in("correct horse"))
    assert not AccessAttempt.objects.exists()


def test_a_good_login_forgets_the_failures_before_it(ann):
    fail(9)
    assert is_in(log_in("correct horse"))
    assert fail(9).status_code == 200


def test_axes_reset_command_ends_login_lockout(ann):
    fail(10)
    call_command("axes_reset_username", "ann", verbosity=0)
    assert is_in(log_in("correct horse"))


def test_no_password_and_no_name_is_logged(ann, caplog):
    log_in("hunter2", "my-password-by-mistake")
    assert HERE in caplog.text
    assert "my-password-by-mistake" not in caplog.text
    assert "hunter2" not in caplog.text + str(list(AccessAttempt.objects.values()))


def test_a_forwarded_address_counts_behind_a_proxy_only(ann, settings, rf):
    settings.BEHIND_PROXY = False
    for number in range(10):
        log_in("wrong", **{"X-Forwarded-For": f"203.0.113.{number}"})
    assert log_in("correct horse").status_code == 429

    settings.BEHIND_PROXY = True
    # What the visitor sent stands before what the proxy added.
    for number in range(9):
        log_in("wrong", address="10.0.0.1", **{"X-Forwarded-For": f"9.9.9.{number}, {ELSEWHERE}"})
    forwarded = {"X-Forwarded-For": f"8.8.8.8, {ELSEWHERE}"}
    assert log_in("wrong", address="10.0.0.1", **forwarded).status_code == 429
    assert is_in(log_in("correct horse", address="10.0.0.1", **{"X-Forwarded-For": "203.0.113.9"}))


@pytest.mark.parametrize(
    ("forwarded", "remote", "address"),
    [
        # Not the proxy's own, which would be everybody's.
        ("", HERE, None),
        ("unknown", HERE, None),
        ("_hidden", HERE, None),
        ("198.51.100.7, unknown", HERE, None),
        ("x, 198.51.100.7", HERE, ELSEWHERE),
        ("198.51.100.7:4711", HERE, ELSEWHERE),
        ("203.0.113.9, 198.51.100.7:4711", HERE, ELSEWHERE),
        ('"198.51.100.7:4711"', HERE, ELSEWHERE),
        ("198.51.100.7:", HERE, None),
        ("198.51.100.7:x", HERE, None),
        ("[2001:db8:1:2:3:4:5:6]:443", HERE, "2001:db8:1:2::"),
        ("[2001:db8:1:2:3:4:5:6]", HERE, "2001:db8:1:2::"),
        ("[::ffff:198.51.100.7]:443", HERE, ELSEWHERE),
        ("fe80::1%eth0", HERE, "fe80::"),
        ("unknown", "", None),
        ("2001:db8:1:2:3:4:5:6", HERE, "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::9", HERE, "2001:db8:1:2::"),
        ("::ffff:198.51.100.7", HERE, ELSEWHERE),
    ],
)
def test_addresses_are_read_as_far_as_they_can_be_believed(
    settings, rf, forwarded, remote, address
):
    settings.BEHIND_PROXY = True
    request = rf.get("/", REMOTE_ADDR=remote, headers={"X-Forwarded-For": forwarded})
    assert address_of(request) == address


def test_lockout_behind_proxy_is_by_client_address_without_port(ann, settings):
    settings.BEHIND_PROXY = True
    for port in range(40_000, 40_010):
        answer = log_in("wrong", address="10.0.0.1", **{"X-Forwarded-For": f"203.0.113.7:{port}"})
    assert answer.status_code == 429
    elsewhere = {"X-Forwarded-For": f"{ELSEWHERE}:40099"}
    assert is_in(log_in("correct horse", address="10.0.0.1", **elsewhere))


def test_strangers_whose_address_is_unreadable_lock_out_no_other_name(
    ann, settings, monkeypatch, caplog
):
    settings.BEHIND_PROXY = True
    monkeypatch.setattr("sasproject.visitors._Logged.at", float("-inf"))
    unreadable = {"X-Forwarded-For": "_hidden"}
    for n in range(60):
        log_in("wrong", f"user{n}", address="10.0.0.1", **unreadable)
    assert is_in(log_in("correct horse", address="10.0.0.1", **unreadable))
    assert [record.message for record in caplog.records].count("visitor_unknown") == 1


def test_a_visitor_without_an_address_can_log_in(ann):
    assert is_in(log_in("correct horse", address=""))
    assert fail(10, address="").status_code == 429


def test_an_address_that_tries_many_names_is_locked_and_no_other_is(ann):
    answers = [log_in("wrong", f"user{n}") for n in range(50)]
    assert [one.status_code for one in answers[:49]] == [200] * 49

    refused = log_in("correct horse")
    assert refused.status_code == 429
    assert "Nobody can log in from here for 15 minutes" in refused.content.decode()
    assert is_in(log_in("correct horse", address=ELSEWHERE))

    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=15, seconds=1))
    assert is_in(log_in("correct horse"))


def test_a_name_that_many_addresses_try_is_told_of_and_its_owner_comes_in(ann):
    for name in ("ann", "nobody"):
        for n in range(5):
            assert not Alert.objects.filter(message__contains=f"'{name}'").exists()
            fail(10, name=name, address=f"203.0.113.{n}")

    told = Alert.objects.filter(code="password_guessing").order_by("pk")
    assert [one.cause for one in told] == ["password_guessing:ann", "password_guessing:nobody"]
    assert is_in(log_in("correct horse"))


def test_failed_logins_of_colleagues_do_not_lock_out_another_user(ann):
    for n in range(4):
        fail(9, name=f"colleague{n}")
    assert is_in(log_in("correct horse"))
