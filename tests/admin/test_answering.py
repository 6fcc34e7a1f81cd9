"""A step that waits for somebody: who may answer, what they see, and what comes of it."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from tests.admin import toys
from tests.admin.conftest import VERBS, every_row, staff
from tests.admin.test_verbs import CASES, PROCESS
from tests.toyflow import agents as toy
from workers.client import callbacks
from workers.exceptions import Refused
from workers.models import Alert, Process, Step
from workers.supervisor import sweep
from workers.testing import Wire, pass_time

pytestmark = pytest.mark.django_db
CASE = CASES["answer"]
WAITING = f"{PROCESS}/waiting/"


def answer(client: Client, process: Process, decision: str, comment: str = "Fine by me.") -> Any:
    form = CASE.filled(process, decision=decision, reason=comment)
    return client.post(f"{CASE.url(process)}?from=waiting", form)


def test_approved_it_goes_on_with_who_and_why(operator: Client, wire: Wire) -> None:
    process = toys.asked(wire)

    response = answer(operator, process, "approve")
    wire.run_until_idle()

    assert (response.status_code, response["Location"]) == (302, WAITING)
    process.refresh_from_db()
    assert process.state == "processed"
    result = Step.objects.get(process=process, name="ask").result
    assert result == {"approved": True, "by": "operator", "comment": "Fine by me."}


def test_declined_it_is_undone_and_nobody_is_woken(operator: Client, wire: Wire) -> None:
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
def test_who_declines_says_why_and_nothing_else_is_an_answer(
    operator: Client, wire: Wire, decision: str, comment: str
) -> None:
    process = toys.asked(wire)
    before = every_row()
    assert answer(operator, process, decision, comment).status_code == 400
    assert every_row() == before


def test_answering_comes_first_among_the_acts_of_the_page(operator: Client, wire: Wire) -> None:
    process = toys.asked(wire)
    html = operator.get(f"{PROCESS}/{process.pk}/change/").content.decode()
    acts = html.partition("What you may do now")[2].partition("</nav>")[0]
    assert acts.count("Answer…") == 1
    assert acts.index("Answer…") < acts.index("Pause…")
    assert f"{CASE.url(process)}" in acts


def test_approving_needs_no_comment(operator: Client, wire: Wire) -> None:
    assert answer(operator, toys.asked(wire), "approve", "").status_code == 302


def test_the_page_shows_the_question_and_the_input_escaped(operator: Client, wire: Wire) -> None:
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


def test_a_permission_that_the_question_names_counts_instead(wire: Wire) -> None:
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


def test_one_that_somebody_else_has_answered_is_left_alone(operator: Client, wire: Wire) -> None:
    process = toys.asked(wire)
    form = CASE.filled(process)
    callbacks.fail_step(process.pk, "ask", _refused(), actor="callback")
    before = every_row()

    response = operator.post(CASE.url(process), form)

    assert response.status_code == 409
    assert "waits for nobody" in response.content.decode()
    assert every_row() == before


def test_a_step_that_asks_nobody_is_not_answered(operator: Client, wire: Wire) -> None:
    process = toys.asked(wire)
    before = every_row()
    url = f"{PROCESS}/{process.pk}/steps/then/answer/"
    assert "waits for nobody" in operator.get(url).content.decode()
    assert operator.post(url, CASE.filled(process)).status_code == 409
    assert every_row() == before


def test_the_list_has_the_oldest_first_and_marks_the_overdue(operator: Client, wire: Wire) -> None:
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


def test_an_answered_step_is_off_the_list(operator: Client, wire: Wire) -> None:
    process = toys.asked(wire)
    answer(operator, process, "approve")
    assert "Nothing is waiting for your answer." in operator.get(WAITING).content.decode()


def test_a_long_list_has_pages(operator: Client, wire: Wire, monkeypatch: Any) -> None:
    monkeypatch.setattr("workers.admin.waiting.PAGE", 1)
    for subject in ("Toy 1", "Toy 2"):
        toys.asked(wire, subject)
    first, second = (operator.get(f"{WAITING}?page={n}").content.decode() for n in (1, 2))
    assert ("Toy 1" in first, "Toy 2" in first) == (True, False)
    assert ("Toy 1" in second, "Toy 2" in second) == (False, True)
    assert operator.get(f"{WAITING}?page=x").status_code == 200


def test_a_viewer_sees_no_steps_there_and_a_stranger_signs_in(
    viewer: Client, client: Client, wire: Wire
) -> None:
    toys.asked(wire)
    assert "Toy 1" not in viewer.get(WAITING).content.decode()
    assert viewer.post(WAITING).status_code == 405
    assert client.get(WAITING).status_code == 302


def _refused() -> Any:
    return Refused("declined", "no")
