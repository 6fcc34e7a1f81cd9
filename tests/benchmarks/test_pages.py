"""Every address that is measured is a page."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from benchmarks.pages.addresses import addresses
from tests.admin.conftest import order_in_error, order_with

pytestmark = pytest.mark.django_db


@pytest.mark.volume
def test_every_address_that_is_measured_is_answered_with_a_page():
    order_in_error()
    order_with("processed", charge_payment="processed")
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root", "root@example.org", "x"))
    asked = [
        (address, poll)
        for address, poll in addresses()
        # A page that a small table does not have.
        if not address.partition("?")[2].startswith("p=")
    ]
    assert len(asked) > 100

    for address, is_poll in asked[:: max(1, len(asked) // 60)]:
        headers = {"HX-Request": "true"} if is_poll else {}
        assert client.get(address, headers=headers).status_code == 200, address
