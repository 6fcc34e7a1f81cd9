"""A step that waits for somebody: who may answer, what they see, and what comes of it."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from tests.admin import toys
from tests.admin.conftest import VERBS, every_row, staff
from tests.admin.test_verbs import CASES, PROCESS
from tests.factories import SinkFactory
from tests.toyflow import agents as toy
from workers.client import callbacks
from workers.exceptions import Refused
from workers.models import Alert, Process, Step
from workers.supervisor import sweep
from workers.testing import pass_time

CASE = CASES["answer"]
WAITING = f"{PROCESS}/waiting/"


def answer(client: Client, process: Process, decision: str, comment: str = "Fine by me.") -> Any:
    form = CASE.filled(process, decision=decision, reason=comment)
    return client.post(f"{CASE.url(process)}?from=waiting", form)


def test_approved_it_goes_on_with_who_and_why(operator, wire):
    process = toys.asked(wire)

    response = answer(operator, process, "approve")
    wire.run_until_idle()

    assert (response.status_code, response["Location"]) == (302, WAITING)
    process.refresh_from_db()
    assert process.state == "processed"
    result = Step.objects.get(process=process, name="ask").result
    assert result == {"approved": True, "by": "operator", "comment": "Fine by me."}


def test_declined_answer_compensates_process_without_alert(operator, wire):
    process = toys.asked(wire)

    assert answer(operator, process, "decline", "Too much.").status_code == 302
    wire.run_until_idle()

    process.refresh_from_db()
    html = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert "Answered: declined" in html
    assert "Refused by the service" not in html
    assert process.state == "compensated"
    assert Step.objects.get(process=process, name="ask").fault["message"] == "Too much."
    assert [name for name, _ in toy.undone] == ["undo_first"]
    assert not Alert.objects.exists()


@pytest.mark.parametrize(
    ("decision", "comment"), [("decline", ""), ("decline", "  "), ("", "why"), ("perhaps", "why")]
)
def test_who_declines_says_why_and_nothing_else_is_an_answer(operator, wire, decision, comment):
    process = toys.asked(wire)
    before = every_row()
    assert answer(operator, process, decision, comment).status_code == 400
    assert every_row() == before


def test_answering_comes_first_among_the_acts_of_the_page(operator, wire):
    process = toys.asked(wire)
    html = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    acts = html.partition("What you may do now")[2].partition("</nav>")[0]
    assert acts.count("Answer…") == 1
    assert acts.index("Answer…") < acts.index("Pause…")
    assert f"{CASE.url(process)}" in acts


def test_approving_needs_no_comment(operator, wire):
    assert answer(operator, toys.asked(wire), "approve", "").status_code == 302


def test_the_page_shows_the_question_and_the_input_escaped(operator, wire):
    process = toys.asked(wire)
    step = Step.objects.get(process=process, name="ask")
    Step.objects.filter(pk=step.pk).update(
        deferral={**step.deferral, "question": "<script>alert(1)</script> & so on?"}
    )
    html = operator.get(CASE.url(process)).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; so on?" in html
    assert "<script>alert" not in html
    assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert "1480.00" in html
    assert "Asked" in html
    assert "1 h 59 min left" in html or "2 h 00 min left" in html


def test_a_permission_that_the_question_names_counts_instead(wire):
    process = toys.asked(wire, permission="orders.change_product")
    answerer, decider = staff("answerer", *VERBS), Client()
    user = get_user_model().objects.create_user("decider", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_product"))
    decider.force_login(user)
    before = every_row()

    assert answerer.get(CASE.url(process)).status_code == 403
    assert answer(answerer, process, "approve").status_code == 403
    assert every_row() == before
    assert "Toy 1" not in answerer.get(WAITING).content.decode()

    assert "Toy 1" in decider.get(WAITING).content.decode()
    assert "waiting for somebody" in decider.get("/admin/").content.decode()
    assert decider.get(CASE.url(process)).status_code == 200
    assert answer(decider, process, "approve").status_code == 302


@pytest.mark.parametrize("verb", ["complete", "skip"])
@pytest.mark.parametrize(
    ("permission", "needed"), [("orders.change_product", "change_product"), ("", "answer_step")]
)
@pytest.mark.parametrize("is_over", [False, True], ids=["asked", "not answered in time"])
def test_ending_it_by_hand_needs_the_permission_of_the_question(
    wire, verb, permission, needed, is_over
):
    process = toys.asked(wire, permission=permission, is_asked_once=True)
    if is_over:
        pass_time(7300)
        sweep()
        wire.run_until_idle()
        assert Step.objects.get(process=process, name="ask").state == "error"
    form = CASES[verb].filled(process)
    url = f"{PROCESS}/{process.pk}/steps/ask/{verb}/"
    steerer = staff("steerer", *(name for name in VERBS if name != needed))
    answerer = staff("answerer", f"{verb}_step")
    user = get_user_model().objects.get(username="answerer")
    before = every_row()

    for client in (steerer, answerer):
        assert client.get(url).status_code == 403
        assert client.post(url, form).status_code == 403
        assert url not in client.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    assert every_row() == before

    user.user_permissions.add(Permission.objects.get(codename=needed))
    assert answerer.post(url, form).status_code == 302


@pytest.mark.parametrize("verb", ["complete", "skip"])
def test_ending_a_step_that_asks_no_person_needs_no_more_than_that(wire, verb):
    process = toys.asked(wire, question="")
    form = CASES[verb].filled(process)
    url = f"{PROCESS}/{process.pk}/steps/ask/{verb}/"
    assert staff("only", f"{verb}_step").post(url, form).status_code == 302


def test_answer_to_already_answered_step_changes_nothing(operator, wire):
    process = toys.asked(wire)
    form = CASE.filled(process)
    callbacks.fail_step(process.pk, "ask", _refused(), actor="callback")
    before = every_row()

    response = operator.post(CASE.url(process), form)

    assert response.status_code == 409
    assert "waits for nobody" in response.content.decode()
    assert every_row() == before


def test_answer_to_step_that_asks_no_question_is_refused(operator, wire):
    process = toys.asked(wire)
    before = every_row()
    url = f"{PROCESS}/{process.pk}/steps/then/answer/"
    assert "waits for nobody" in operator.get(url).content.decode()
    assert operator.post(url, CASE.filled(process)).status_code == 409
    assert every_row() == before


def test_the_list_has_the_oldest_first_and_marks_the_overdue(operator, wire):
    toys.asked(wire, "Toy 1", escalate_after_seconds=600)
    pass_time(601)
    sweep()
    toys.asked(wire, "Toy 2", escalate_after_seconds=600)

    html = operator.get(WAITING).content.decode()

    assert html.index("Toy 1") < html.index("Toy 2")
    assert html.count("sas-alert") == 1
    assert html.index("sas-alert") < html.index("Toy 2")
    index = operator.get("/admin/").content.decode()
    assert f'<a href="{WAITING}">' in index
    assert "waiting for somebody" in index


def test_an_answered_step_is_off_the_list(operator, wire):
    process = toys.asked(wire)
    answer(operator, process, "approve")
    assert "Nothing is waiting for your answer." in operator.get(WAITING).content.decode()


def test_a_long_list_has_pages(operator, wire, monkeypatch):
    monkeypatch.setattr("workers.desk.admin.waiting.PAGE", 1)
    for subject in ("Toy 1", "Toy 2"):
        toys.asked(wire, subject)
    first, second = (operator.get(f"{WAITING}?page={n}").content.decode() for n in (1, 2))
    assert ("Toy 1" in first, "Toy 2" in first) == (True, False)
    assert ("Toy 1" in second, "Toy 2" in second) == (False, True)
    assert operator.get(f"{WAITING}?page=x").status_code == 200


def test_a_viewer_sees_no_steps_there_and_a_stranger_signs_in(viewer, client, wire):
    toys.asked(wire)
    assert "Toy 1" not in viewer.get(WAITING).content.decode()
    assert viewer.post(WAITING).status_code == 405
    assert client.get(WAITING).status_code == 302


def _refused() -> Any:
    return Refused("declined", "no")


@pytest.fixture
def labelled(monkeypatch) -> None:
    monkeypatch.setattr(toy.Alpha, "answer_labels", ("It is <here>", "It will not come"))


@pytest.mark.usefixtures("labelled")
def test_the_buttons_say_what_the_answers_mean(operator, wire):
    process = toys.asked(wire)

    html = operator.get(CASE.url(process)).content.decode()

    assert re.findall(r'name="decision" value="(\w+)"[^>]*>([^<]*)<', html) == [
        ("approve", "It is &lt;here&gt;"),
        ("decline", "It will not come"),
    ]
    assert "It will not come: what it did so far is undone." in html
    assert "Approve" not in html
    assert "Decline" not in html


@pytest.mark.usefixtures("labelled")
def test_what_was_answered_is_said_in_the_same_words(operator, wire):
    process = toys.asked(wire)

    answer(operator, process, "decline", "Lost.")

    index = operator.get(WAITING).content.decode()
    assert "ask: “It will not come”; what was done is being undone." in index


def test_without_words_of_its_own_they_are_approve_and_decline(operator, wire):
    html = operator.get(CASE.url(toys.asked(wire))).content.decode()
    assert ">Approve</button>" in html
    assert ">Decline</button>" in html


def test_answer_page_says_submitter_is_told_if_process_has_sink(operator, wire):
    process = toys.asked(wire)
    url = CASE.url(process)
    assert "is told" not in operator.get(url).content.decode()
    assert "Leave it as it is: it waits until" in operator.get(url).content.decode()

    SinkFactory(process=process, address="replies.acme", owner="acme")

    assert "Its submitter is notified." in operator.get(url).content.decode()


def test_a_no_is_not_called_a_failure(operator, wire):
    process = toys.asked(wire)
    answer(operator, process, "decline", "Too much.")
    wire.run_until_idle()

    html = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()

    assert "the answer was no: Too much." in html
    assert "failed for good" not in html
