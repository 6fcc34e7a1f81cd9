"""Rows whose every text is an attack, and a reader that finds an attack that has worked."""

import re
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.utils import timezone

from orders import tokens
from orders.models import ApiClient, DeadLetter, Order, OrderLine, Product
from tests.admin import toys
from tests.admin.conftest import alert_about, note, order_in_error
from tests.factories import SinkFactory
from tests.toyflow import agents as toy
from workers.desk.models import BulkJob, Delivery, Incident, Release, Route
from workers.desk.store import gauges, incidents, notes, probe_results, saved_views
from workers.desk.store.probe_results import ProbeOutcome
from workers.models import Hold, Process, Schedule, Step, UndoRequest
from workers.store import journal
from workers.testing import Wire

#: Closes an attribute, opens an element, asks a template engine to count, and hides in what
#: cannot be seen: a turn of the writing direction, and a character without width.
ATTACK = "\"'><x-evil onevil=1>{{7*7}}{% x %}\u202e\u200b"
LINK = "javascript:alert(1)//"


def evil(name: str) -> str:
    """Return an attack that says where it came from."""
    return f"{ATTACK}{name}"


class Reader(HTMLParser):
    """Reads a page as a browser would: its texts, its links, and what is wrong with it.

    On a page of the admin what turns or hides text is wrong, but in what somebody types.
    """

    def __init__(self, page: str, *, is_admin: bool = True) -> None:
        super().__init__(convert_charrefs=True)
        self._is_admin, self._inside = is_admin, ""
        self.said: list[str] = []
        self.links: list[str] = []
        self.wrong: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        if tag == "x-evil":
            self.wrong.append(f"an element of ours to be: {self.get_starttag_text()}")
        for name, value in attrs:
            text = value or ""
            self.said.append(text)
            if name != "value":
                self._look_for_unseen(text)
            if name.startswith("on"):
                self.wrong.append(f"a handler: {self.get_starttag_text()}")
            if name in ("href", "src", "action", "formaction") or name.startswith("hx-"):
                if text.strip().lower().startswith(("javascript:", "data:", "vbscript:")):
                    self.wrong.append(f"a link that runs: {self.get_starttag_text()}")
                if name == "href" and tag == "a":
                    self.links.append(text)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.said.append(data)
        if self._inside != "textarea":
            self._look_for_unseen(data)

    def _look_for_unseen(self, text: str) -> None:
        if self._is_admin and re.search("[\u202e\u200b]", text):
            self.wrong.append(f"what cannot be seen: {text!a}")

    @property
    def text(self) -> str:
        """Return what is said, as it was before what cannot be seen was escaped."""
        said = "\n".join(self.said)
        return said.replace("\\u202e", "\u202e").replace("\\u200b", "\u200b")


def root() -> AbstractUser:
    user: AbstractUser = get_user_model().objects.create_superuser(evil("user"))
    return user


def fill_shop() -> Order:
    """Make a product and an order in error, of attacks in every column that can hold one."""
    Product.objects.create(
        sku=evil("k"),
        name=evil("product"),
        description=evil("description"),
        picture=evil("picture"),
        price="1.00",
        stock=5,
    )
    order = order_in_error()
    Order.objects.filter(pk=order.pk).update(
        customer_name=evil("customer"),
        customer_email=evil("mail@example.org"),
        customer_address=f"{evil('street')}\n{evil('town')}",
        reference=evil("reference"),
        submitter=evil("submitter"),
    )
    OrderLine.objects.filter(order=order).update(name=evil("line"), sku=evil("s"))
    Process.objects.filter(pk=order.process_id).update(
        subject=evil("subject"),
        input={evil("field"): evil("input")},
        submission_key=f"{evil('key')} {evil('submitter')}",
    )
    fault = {"kind": "permanent", "code": evil("code"), "message": evil("fault")}
    Step.objects.filter(process=order.process, name="charge_payment").update(fault=fault)
    Step.objects.filter(process=order.process, name="reserve_stock").update(
        result={evil("result key"): evil("result")}
    )
    return order


def fill(wire: Wire, user: AbstractUser) -> Order:
    """Make everything that the admin shows, of attacks."""
    order = fill_shop()
    note(
        order,
        "cancel_requested",
        actor=f"operator:{evil('actor')}",
        detail={"reason": evil("reason"), evil("detail"): LINK},
    )
    charged = Step.objects.get(process=order.process, name="charge_payment")
    params = {"subject": evil("subject"), "step": "charge_payment", "reason": evil("alert")}
    alert_about(order, cause="hostile", message="", params=params, step=charged)
    incidents.collect()
    incident = Incident.objects.get()
    notes.write_on_incident(incident.pk, user.pk, evil("note"), actor=evil("actor"))
    notes.write_on_process(order.process_id, user.pk, evil("noted"), actor=evil("actor"))
    done = alert_about(order, message=evil("old alert"), cause="old")
    type(done).objects.filter(pk=done.pk).update(
        acknowledged_at=timezone.now(), acknowledged_by=user, comment=evil("alert comment")
    )
    toys.resting(wire, subject=evil("resting"))
    toys.without_mail(wire, subject=evil("without mail"))
    toy.script.clear()
    toys.of_ada(wire, subject=evil("of Ada"))
    toys.asked(wire, subject=evil("asked"), question=evil("question"))
    toys.paused(wire, subject=evil("paused"))
    editable = toys.editable(wire, subject=evil("editable"))
    Process.objects.filter(pk=editable.pk).update(
        input={"customer": {"name": evil("given"), "address": evil("address")}, "gift": False}
    )
    now = timezone.now()
    Hold.objects.create(
        kind="step",
        name=evil("held"),
        began_at=now,
        began_by=f"operator:{evil('holder')}",
        reason=evil("hold reason"),
    )
    for number, paused_at in enumerate((None, now)):
        Schedule.objects.create(
            name=evil(f"schedule {number}"),
            is_declared=False,
            workflow="toy_line",
            cron="0 6 * * *",
            time_zone="UTC",
            overlap="skip",
            catch_up_seconds=0,
            jitter_seconds=0,
            input={"name": evil("scheduled")},
            subject=evil("schedule subject"),
            problem=evil("schedule problem"),
            next_at=now,
            due_at=now,
            set_at=now,
            paused_at=paused_at,
        )
    SinkFactory(
        process=order.process,
        kind="webhook",
        address=f"{LINK}{evil('sink')}",
        owner=evil("owner"),
        correlation_id=evil("correlation"),
        last=1,
        tries=2,
        problem={"code": "unreached", "params": {"error": evil("sink error")}},
        next_try_at=now,
    )
    journal.record_act(
        "of_an_app",
        {"client": evil("done to"), "reason": evil("why")},
        actor=f"operator:{evil('doer')}",
    )
    route = Route.objects.create(
        name=evil("route"), kind="mail", address=f"{evil('route address')}@example.org"
    )
    Delivery.objects.create(
        route=route,
        incident=incident,
        event="opened",
        at=now,
        next_at=now,
        tries=1,
        answer=evil("route answer"),
    )
    job = BulkJob.objects.create(
        verb="resubmit",
        state="running",
        actor=f"operator:{evil('job actor')}",
        reason=evil("job reason"),
        source={"error": evil("job cause")},
        total=2,
        done=1,
        refused=1,
        created_at=now,
    )
    refusal = {"code": "not_paused", "params": {"subject": evil("refused")}}
    job.items.create(process=order.process, sequence=0, state="refused", refusal=refusal)
    job.items.create(process=editable, sequence=0)
    for shared in (False, True):
        saved_views.save(
            user.pk, "orders.order", evil(f"view{' shared' * shared}"), "state=error",
            is_shared=shared,
        )  # fmt: skip
    gone = urlencode({evil("view parameter"): evil("view filter")})
    saved_views.save(user.pk, "orders.order", evil("broken view"), gone)
    for process in (order.process, editable):
        UndoRequest.objects.create(
            process=process, verb="cancel", undo=[evil("undo")], amount="5.00",
            sequence=process.sequence, asked_by=f"operator:{evil('asker')}",
            reason=evil("undo reason"), asked_at=now,
        )  # fmt: skip
    UndoRequest.objects.create(
        process=order.process, verb="begin_again", step=evil("undo step"), undo=[], sequence=0,
        asked_by="operator:x", reason="x", asked_at=now, state="declined",
        decided_by=f"operator:{evil('decider')}", decided_at=now, comment=evil("undo comment"),
        refusal={"code": "undo_moved", "params": {"subject": evil("undo moved")}},
    )  # fmt: skip
    gauges.take()
    Release.objects.create(name=evil("release"), seen_at=now)
    finding = {
        "level": "error",
        "what": evil("finding"),
        "why": evil("finding why"),
        "remedy": evil("finding remedy"),
    }
    looks = [
        ProbeOutcome(f"{evil('group')}.press", "error", [finding]),
        ProbeOutcome("shop.mute", "ok"),
    ]
    probe_results.keep(looks)
    _letter(now)
    _letter(now, state="discarded", resolved_at=now, resolved_by=evil("resolver"))
    client = ApiClient.objects.create(name=evil("c"), created_at=now)
    tokens.issue(client, scopes=["read"], expires_at=now + timedelta(days=1))
    LogEntry.objects.log_actions(
        user_id=user.pk,
        queryset=[client],
        action_flag=CHANGE,
        change_message=evil("log"),
        single_object=True,
    )
    ApiClient.objects.create(name=evil("d"), created_at=now, is_active=False)
    return order


def _letter(now: Any, **columns: Any) -> None:
    DeadLetter.objects.create(
        **{
            "received_at": now,
            "message_id": evil("message"),
            "client": evil("sender"),
            "properties": {
                "reply_to": evil("reply"),
                "answer": evil("answer"),
                "headers": {evil("header"): evil("value")},
            },
            "body": evil("body").encode(),
            "reasons": [{"field": evil("where"), "problem": evil("problem")}],
            "comment": evil("comment"),
            **columns,
        }
    )
