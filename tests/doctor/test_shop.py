"""What the doctor says of the shop."""

from collections.abc import Iterable

import pytest
from django.contrib.auth import get_user_model
from django.test import override_settings
from django.utils import timezone

from orders.doctor import shop
from orders.models import DeadLetter
from workers.ops.doctor import Finding

pytestmark = pytest.mark.django_db


def said(found: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(str(one.level), one.what) for one in found]


def test_dead_letters():
    assert said(shop.dead_letters_are_dealt_with()) == [("ok", "no dead letter is open")]
    for state in ("open", "discarded"):
        DeadLetter.objects.create(received_at=timezone.now(), body=b"", state=state)
    assert said(shop.dead_letters_are_dealt_with()) == [("warning", "1 dead letter is open")]


def test_doctor_reports_users_with_well_known_passwords():
    users = get_user_model().objects
    users.create_user("operator", password="operator")
    users.create_user("viewer", password="something else")
    what = "users with a well-known password: operator"

    with override_settings(DEMO_LOGINS=True):
        assert said(shop.passwords_are_not_well_known()) == [("info", what)]
    with override_settings(DEMO_LOGINS=False):
        assert said(shop.passwords_are_not_well_known()) == [("error", what)]
        users.filter(username="operator").update(is_active=False)
        assert said(shop.passwords_are_not_well_known()) == []


@pytest.mark.parametrize(("limit", "levels"), [(10, []), (30, ["warning"]), (None, ["warning"])])
def test_the_mail_server_s_time(limit, levels):
    with override_settings(EMAIL_TIMEOUT=limit):
        assert [level for level, _ in said(shop.mail_ends_before_its_step())] == levels
