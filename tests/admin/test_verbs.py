"""What holds for every verb's page: who may, once only, and never on an old page."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.urls import resolve

from tests.admin import toys
from tests.admin.conftest import VERBS, every_row, staff
from workers.desk.admin.actions import BY_NAME
from workers.models import Journal, Process
from workers.ops import invariants
from workers.testing import Wire

PROCESS = "/admin/workers/process"


@dataclass(frozen=True)
class Case:
    address: str
    permission: str
    begin: Callable[[Wire], Process]
    event: str
    form: dict[str, Any] = field(default_factory=dict)

    def url(self, process: Process) -> str:
        return f"{PROCESS}/{process.pk}/{self.address}"

    def filled(self, process: Process, **changes: Any) -> dict[str, Any]:
        process.refresh_from_db()
        seen = {"reason": "They rang.", "sequence": process.sequence}
        return {**seen, **self.form, **changes}


CASES = {
    "cancel": Case("cancel/", "cancel_process", toys.asked, "compensating"),
    "compensate": Case("compensate/", "compensate_process", toys.asked, "compensating"),
    "pause": Case("pause/", "pause_process", toys.asked, "paused"),
    "resume": Case("resume/", "pause_process", toys.paused, "unpaused"),
    "resubmit": Case("resubmit/", "resubmit_process", toys.failed, "resubmitted"),
    "begin_again": Case("begin-again/first/", "renew_process", toys.failed, "compensating"),
    "redo": Case("steps/mail/redo/", "redo_step", toys.without_mail, "resubmitted"),
    "retry": Case("steps/two/retry/", "retry_step", toys.resting, "hurried"),
    "retime": Case(
        "steps/two/retime/", "extend_step", toys.resting, "retimed", {"seconds": 60, "seen": "30"}
    ),
    "postpone": Case(
        "steps/two/postpone/",
        "extend_step",
        toys.resting,
        "postponed",
        {"until": f"{date.today() + timedelta(days=30)}T09:00"},
    ),
    "complete": Case(
        "steps/then/complete/", "complete_step", toys.failed, "processed", {"result": '{"id": 1}'}
    ),
    "skip": Case("steps/then/skip/", "skip_step", toys.failed, "skipped"),
    "answer": Case(
        "steps/ask/answer/", "answer_step", toys.asked, "processed", {"decision": "approve"}
    ),
    "erase": Case("erase/", "erase_process", toys.of_ada, "erased"),
    "input": Case(
        "input/",
        "edit_input",
        toys.editable,
        "input_edited",
        {"value_0": "2 Low Road", "confirm": "yes"},
    ),
}


@pytest.fixture(params=sorted(CASES))
def case(request) -> Case:
    return CASES[request.param]


def test_every_verb_has_its_case():
    assert set(CASES) == set(BY_NAME)
    assert {case.permission for case in CASES.values()} <= set(VERBS)


def test_permitted_user_acts_once_and_act_is_journalled(case, wire, nudges):
    process, client = case.begin(wire), staff("only", case.permission)
    form = case.filled(process)

    response = client.post(case.url(process), form)

    assert (response.status_code, response["Location"]) == (302, f"{PROCESS}/{process.pk}/change/")
    entry = Journal.objects.filter(event=case.event, actor="operator:only").earliest("id")
    assert entry.process_id == process.pk
    log = LogEntry.objects.get()
    assert (log.object_id, log.user.get_username()) == (str(process.pk), "only")
    if case is not CASES["answer"]:
        assert entry.detail["reason"] == "They rang."
    assert "They rang." in log.change_message
    assert invariants.violations() == []

    after = every_row()
    again = client.post(case.url(process), form)
    assert again.status_code == 409
    assert "Refused; nothing was changed." in again.content.decode()
    assert every_row() == after


def test_user_without_permission_sees_no_verb_link_and_changes_nothing(case, wire):
    process = case.begin(wire)
    client = staff("others", *(name for name in VERBS if name != case.permission))
    form, before = case.filled(process), every_row()

    assert client.get(case.url(process)).status_code == 403
    assert client.post(case.url(process), form).status_code == 403

    page = client.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert case.url(process) not in page
    assert every_row() == before


def test_permitted_user_sees_verb_link_and_opens_form(case, wire):
    process, client = case.begin(wire), staff("only", case.permission)
    before = every_row()

    page = client.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert f'href="{case.url(process)}"' in page
    shown = client.get(case.url(process))

    assert shown.status_code == 200
    assert "What will happen" in shown.content.decode()
    assert client.head(case.url(process)).status_code == 200
    assert client.put(case.url(process)).status_code == 405
    assert every_row() == before


def test_a_terminal_says_the_same_and_changes_nothing(case, wire):
    process, client = case.begin(wire), staff("only", case.permission)
    verb = next(verb for name, verb in BY_NAME.items() if CASES[name] is case)
    before, out = every_row(), StringIO()
    words = [verb.at_terminal, str(process.pk), "--dry-run"]
    if verb.is_of_step:
        words += ["--step", resolve(case.url(process)).kwargs["step"]]

    call_command("sas", "process", *words, stdout=out)

    page = unescape(client.get(case.url(process)).content.decode())
    assert out.getvalue().splitlines()[0] in page
    assert every_row() == before


def test_a_process_that_has_moved_is_left_alone(case, wire):
    process, client = case.begin(wire), staff("only", case.permission)
    form = case.filled(process)
    Process.objects.filter(pk=process.pk).update(sequence=form["sequence"] + 1)
    before = every_row()

    response = client.post(case.url(process), form)

    html = response.content.decode()
    assert response.status_code == 409
    assert "has moved since the page was opened" in html
    assert f'name="sequence" value="{form["sequence"] + 1}"' in html
    assert every_row() == before


def test_a_form_without_reason_or_sequence_changes_nothing(case, wire):
    process, client = case.begin(wire), staff("only", case.permission)
    before = every_row()
    bad: list[dict[str, Any]] = [{"sequence": ""}, {"sequence": "-1"}, {"reason": "x" * 501}]
    if case is not CASES["answer"]:
        bad += [{"reason": ""}, {"reason": "  "}]
    for changes in bad:
        response = client.post(case.url(process), case.filled(process, **changes))
        assert response.status_code == 400, changes
    assert every_row() == before


def test_what_the_state_forbids_is_said_and_not_done(case, wire):
    process, client = case.begin(wire), staff("only", case.permission)
    toys.done(wire, process)
    form, before = case.filled(process), every_row()

    shown = client.get(case.url(process))
    refused = client.post(case.url(process), form)

    assert shown.status_code == 200
    assert "<textarea" not in shown.content.decode()
    assert refused.status_code == 409
    assert "Refused; nothing was changed." in refused.content.decode()
    assert case.url(process) not in client.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert every_row() == before


def test_what_is_not_there_is_not_found(case, wire):
    process, client = case.begin(wire), staff("only", case.permission)
    assert client.get(f"{PROCESS}/987654/{case.address}").status_code == 404
    for name in ("first", "two", "then", "ask"):
        if f"/{name}/" in f"/{case.address}":
            missing = case.url(process).replace(f"/{name}/", "/nowhere/")
            assert client.get(missing).status_code == 404
            assert client.post(missing, case.filled(process)).status_code == 404


def test_strangers_and_forged_forms_are_kept_out(case, wire, client):
    process = case.begin(wire)
    staff("only", case.permission)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(get_user_model().objects.get(username="only"))
    form, before = case.filled(process), every_row()

    assert client.post(case.url(process), form).status_code == 302
    assert strict.post(case.url(process), form).status_code == 403
    assert every_row() == before


def test_the_way_back_is_never_to_another_site(operator, wire):
    process = toys.asked(wire)
    url = f"{PROCESS}/{process.pk}/pause/?from=https://elsewhere.example"
    response = operator.post(url, CASES["pause"].filled(process))
    assert response["Location"] == f"{PROCESS}/{process.pk}/change/"


def test_only_what_lets_something_begin_nudges(wire, nudges):
    for name, counted in (("pause", 0), ("resume", 1)):
        case = CASES[name]
        process, client = case.begin(wire), staff(f"only_{name}", case.permission)
        nudges.clear()
        client.post(case.url(process), case.filled(process))
        assert len(nudges) == counted, name
