"""The code of the how-to page, run as the page has it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.receiving.conftest import OTHER, SECRET
from tests.receiving.test_door import post
from workers.client import operations
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.webhook_provider import Provider
from workers.definitions.workflow import OnFailure, Undo, Workflow, step
from workers.models import Journal, Process
from workers.supervisor import beat_schedule
from workers.testing import Wire

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "receive-webhooks.md"


@pytest.fixture
def page(monkeypatch) -> Iterator[dict[str, Any]]:
    """What the page's code defines; its registrations are forgotten afterwards."""
    registry.discover()
    known: list[dict[Any, Any]] = [registry._agents, registry._workflows, registry._providers]
    before = [dict(one) for one in known]
    monkeypatch.setenv("BANK_WEBHOOK_SECRETS", f"{OTHER} {SECRET}")
    names: dict[str, Any] = {"__name__": "how_to_receive_webhooks"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), names)
    yield names
    for one, was in zip(known, before, strict=True):
        one.clear()
        one.update(was)


@pytest.fixture
def asked(page, wire) -> dict[str, Any]:
    """What the bank was asked for, by a step that waits for its word."""
    sent: list[dict[str, Any]] = []

    def send(url: str, *, json: dict[str, Any], **options: Any) -> Any:
        sent.append(json)
        return SimpleNamespace(body={})

    page["post"] = send
    registry.register_workflow(
        Workflow(
            "collection",
            1,
            (
                step("reserve", "toy.beta", undo=Undo("free", "toy.undoer")),
                step(
                    "pay",
                    "bank.collect",
                    after="reserve",
                    undo=Undo("give_back", "toy.undoer"),
                    on_failure=OnFailure.COMPENSATE,
                ),
            ),
        )
    )
    beat_schedule.ensure_flow()
    submit("collection", subject="Trip 7", input={"amount": "18.50"})
    wire.run_until_idle()
    return sent[0]


def tell(kind: str, asked: dict[str, Any], id: str = "msg_1", **about: Any) -> Any:
    collection = {"id": "col_1", "reference": asked["reference"], "currency": "EUR", **about}
    body = {"type": f"collection.{kind}", "collection": collection}
    return post(json.dumps(body).encode(), to="bank", id=id)


def ended(wire: Wire) -> str:
    wire.run_until_idle()
    return Process.objects.get().state


def test_money_that_has_moved_ends_the_step_once(asked, wire):
    assert tell("settled", asked, amount="18.50").json() == {"outcome": "accepted"}
    assert tell("settled", asked, amount="18.50").json() == {"outcome": "repeated"}
    assert ended(wire) == "processed"


def test_money_that_has_not_moved_undoes_the_order(asked, wire):
    answer = tell("failed", asked, amount="18.50", reason="no funds")
    assert answer.json() == {"outcome": "accepted"}
    assert ended(wire) == "compensated"


def test_money_that_moves_under_a_former_key_is_journalled(asked, wire):
    process = Process.objects.get()
    operations.begin_again(process.pk, "pay", actor="ann", reason="the bank is silent")
    wire.run_until_idle()

    assert tell("settled", asked, amount="18.50").json() == {"outcome": "ignored"}

    assert Journal.objects.filter(event="late_success").count() == 1
    assert ended(wire) == "processing"


@pytest.mark.parametrize(
    "about",
    [
        {"amount": "0.01"},
        {"amount": "18.5"},
        {"amount": 18.5},
        {"amount": "18.50", "currency": "HUF"},
    ],
    ids=str,
)
def test_other_money_than_was_asked_for_is_refused(asked, wire, about):
    answer = tell("settled", asked, **about)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "18.50 EUR were asked for, and other money has moved."
    assert ended(wire) == "processing"
    assert tell("settled", asked, amount="18.50").json() == {"outcome": "accepted"}


def test_what_is_about_something_else_is_ignored(asked):
    assert post(b'{"type": "ping"}', to="bank").json() == {"outcome": "ignored"}
    assert tell("settled", asked, "msg_2", reference="forged").json() == {"outcome": "ignored"}


def test_what_can_be_declared_is_on_the_page(page):
    text = PAGE.read_text(encoding="utf-8")
    names = [*Provider.__dataclass_fields__, *page["Answer"].__dataclass_fields__]
    assert [name for name in names if f"`{name}`" not in text] == []
