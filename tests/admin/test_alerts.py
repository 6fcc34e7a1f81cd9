"""Alerts: the open ones first, each acknowledged once, by those who may."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.admin.conftest import alert_about, every_row, order_in_error
from workers.models import Alert

LIST = "/admin/workers/alert/"
CONFIRM = "/admin/workers/alert/acknowledge/"


def one(alert: Alert) -> str:
    return f"/admin/workers/alert/{alert.pk}/acknowledge/"


def test_open_ones_come_first_with_a_way_to_their_order(operator):
    order = order_in_error()
    now = timezone.now()
    old = alert_about(order, message="old and open", times=3)
    noted = alert_about(message="noted", acknowledged_at=now, code="duty_overdue")
    Alert.objects.filter(pk=old.pk).update(last_raised_at=now - timedelta(days=1))

    response = operator.get(LIST)

    assert [alert.pk for alert in response.context["cl"].result_list] == [old.pk, noted.pk]
    html = response.content.decode()
    assert f"/admin/orders/order/{order.number}/change/" in html
    assert "3 times" in html
    assert one(old) in html
    assert one(noted) not in html


@pytest.mark.parametrize(("query", "shown"), [("?is=open", "here"), ("?is=acknowledged", "gone")])
def test_alert_list_filters_by_open_and_acknowledged(operator, query, shown):
    alert_about(message="here")
    alert_about(message="gone", acknowledged_at=timezone.now())
    rows = operator.get(LIST + query).context["cl"].result_list
    assert [alert.message for alert in rows] == [shown]


def test_the_button_acknowledges_once(operator):
    alert = alert_about(order_in_error())

    first = operator.post(one(alert), {"comment": "on it"}, headers={"referer": LIST}, follow=True)
    landed = every_row()
    again = operator.post(one(alert), {"comment": "me too"}, follow=True)

    assert "Acknowledged: Look here" in first.content.decode()
    assert "Somebody else has acknowledged" in again.content.decode()
    assert every_row() == landed
    alert.refresh_from_db()
    assert (alert.comment, str(alert.acknowledged_by)) == ("on it", "operator")


def test_a_page_shows_the_alert_with_its_form(operator):
    alert = alert_about(order_in_error(), message="Payment is <down>")
    html = operator.get(f"/admin/workers/alert/{alert.pk}/change/").content.decode()
    assert "Payment is &lt;down&gt;" in html
    assert one(alert) in html
    operator.post(one(alert), {"comment": "a <b>"})
    html = operator.get(f"/admin/workers/alert/{alert.pk}/change/").content.decode()
    assert one(alert) not in html
    assert "a &lt;b&gt;" in html
    assert operator.get("/admin/workers/alert/98765/change/").status_code == 302


def test_many_are_acknowledged_with_one_comment(operator):
    alerts = [alert_about(message=f"alert {n}") for n in range(3)]
    noted = alert_about(message="noted", acknowledged_at=timezone.now())
    ids = [alert.pk for alert in [*alerts, noted]]

    shown = operator.post(LIST, {"action": "acknowledge_selected", "_selected_action": ids})
    wanted = ",".join(str(alert.pk) for alert in alerts)
    assert f'value="{wanted}"' in shown.content.decode()
    operator.post(one(alerts[0]))
    done = operator.post(CONFIRM, {"alerts": wanted, "comment": "storm"}, follow=True)

    html = done.content.decode()
    assert "2 alerts acknowledged." in html
    assert "1 was acknowledged already." in html
    assert Alert.objects.filter(acknowledged_at=None).count() == 0
    assert Alert.objects.filter(comment="storm").count() == 2


def test_a_forged_form_or_a_look_changes_nothing(operator):
    alert = alert_about()
    before = every_row()
    for bad in ({}, {"alerts": "x"}, {"alerts": "1;2"}, {"alerts": "²"}):
        assert operator.post(CONFIRM, bad).status_code == 400
    assert (
        operator.post(CONFIRM, {"alerts": str(alert.pk), "comment": "x" * 501}).status_code == 400
    )
    operator.post(one(alert), {"comment": "x" * 501})
    assert operator.get(one(alert)).status_code == 405
    assert operator.get(CONFIRM).status_code == 405
    assert operator.post("/admin/workers/alert/98765/acknowledge/").status_code == 404
    assert every_row() == before


def test_a_referer_from_elsewhere_is_not_followed(operator):
    headers = {"referer": "https://evil.example/admin/"}
    response = operator.post(one(alert_about()), headers=headers)
    assert response["Location"] == LIST


def test_a_viewer_sees_and_cannot_act(viewer):
    alert = alert_about(order_in_error())
    before = every_row()
    html = viewer.get(LIST).content.decode()
    assert "Look here" in html
    assert "/acknowledge/" not in html
    page = viewer.get(f"/admin/workers/alert/{alert.pk}/change/").content.decode()
    assert "/acknowledge/" not in page
    assert viewer.post(one(alert)).status_code == 403
    assert viewer.post(CONFIRM, {"alerts": str(alert.pk)}).status_code == 403
    assert every_row() == before
