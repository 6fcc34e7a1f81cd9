"""The error catalogue has every message of the code, and no other."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from orders.api.problem_types import OF_STATUS
from tests.guard.messages import FILLED_IN, assigned, given, raised, translated
from workers import exceptions
from workers.definitions import delivery_problems
from workers.exceptions import OF_OUR_SIDE, SASError
from workers.notify.senders import reply_queue
from workers.rules import on_failure

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "errors.md"
#: What `storable` says of a document, whatever it is: a result, a request, an answer from outside.
RESULT = re.compile(f"{re.escape(FILLED_IN)} must ")
FAULTS = ("Permanent", "Transient", "Unavailable", "Refused")


#: What the shop's pages say when nothing is wrong.
NO_TROUBLE = {
    *("Your name", "E-mail", "Delivery address", "Quantity", "Quantity of …", "Your orders"),
    *("We send the confirmation here.", "… is in your basket."),
    *("Why do you send it back?", "You need not say. It helps us to do better."),
    *("You may send it back. We have mailed you how.",),
    *("Your order is being cancelled. We write when it is done.",),
    "If there are orders for …, their links are on the way to it. If nothing has come after ten"
    " minutes, ask again.",
}


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed(section: str) -> list[str]:
    """Return the first cell of every row of a section's tables, where it is code."""
    found = re.findall(r"^\| (`+) ?(.+?) ?\1 \|", sections()[section], re.MULTILINE)
    return [text for _, text in found]


def http() -> set[str]:
    views = "workers/views"
    return (
        raised("HttpError", 1, "orders/api")
        | raised("problem", 1, "orders/api")
        | raised("RequestRefused", 1, views)
        | raised("_later", 0, views)
        | raised("__init__", 1, f"{views}/throttling.py")
    )


def fields() -> set[str]:
    """Return what is said of a field of an order, at every door."""
    return (
        raised("ValueError", 0, "orders/schemas.py", "orders/api/orders.py")
        | assigned("errors", "orders/submission.py")
        | assigned("SubmissionRefused", "orders/submission.py")
        | given("_problems", "orders/telling.py", place=1)
        | given("problem_of_url", "workers/http/ssrf_guard.py")
        | raised("__init__", 0, "orders/submission.py")
    )


def answers() -> set[str]:
    said = raised("MessageError", 0, "workers/protocol/messages.py")
    return raised("BadToken", 0, "workers") | {text for text in said if RESULT.match(text)}


def wire() -> set[str]:
    said = raised("MessageError", 0, "workers/protocol/messages.py")
    return {text for text in said if not RESULT.match(text)}


def webhooks() -> set[str]:
    names = ("BadSignature", "NoSecret", "WebhookRefused")
    return {text for name in names for text in raised(name, 0, "workers")}


def undelivered() -> set[str]:
    catalogue = translated("workers/definitions/delivery_problems.py")
    # A broker that is away is told of in the library's words.
    away = {f"{FILLED_IN}: {FILLED_IN}"} & raised("BrokerRefused", 0, "workers/wire/confirmed.py")
    return catalogue | away | raised("NotSent", 0, "workers")


def shown_to_buyers() -> set[str]:
    modules = (f"orders/{name}.py" for name in ("forms", "plain_text", "basket", "agreement"))
    return translated("orders/views", *modules) - NO_TROUBLE


def commands() -> set[str]:
    refusals = raised("NoToken", 0, "orders") | raised("SecretPromised", 0, "orders")
    options = raised("ArgumentTypeError", 0, "workers")
    return raised("CommandError", 0, "orders", "workers", "sasproject") | options | refusals


def states() -> set[str]:
    catalogue = translated("workers/rules/refusals.py")
    said = raised("StateError", 0, "orders", "workers") | raised("ReturnRefused", 0, "orders")
    return said | catalogue


def faults() -> set[str]:
    literal = {code for name in FAULTS for code in raised(name, 0, "orders", "workers")}
    records = raised("FaultRecord", 1, "workers") | raised("of_error", 1, "workers")
    return literal | records | OF_OUR_SIDE | {on_failure.CONDITION_FAILED}


#: Section -> what the code says there.
CATALOGUE: dict[str, Callable[[], set[str]]] = {
    "What the HTTP API says": http,
    "A body that is not read": lambda: raised("BadJson", 0, "workers/http/strict_json.py"),
    "A field of an order": fields,
    "A message of the submission queue": lambda: raised("because", 1, "orders"),
    "An answer by callback": answers,
    "A webhook of a service": webhooks,
    "A status that does not arrive": undelivered,
    "The shop's pages": shown_to_buyers,
    "Orders that a state forbids": states,
    "The admin's forms": lambda: (
        raised("ValidationError", 0, "orders/admin", "workers/desk/admin")
        | raised("NotNow", 0, "orders")
    ),
    "Commands": commands,
    "The stack": lambda: raised("StackError", 0, "sasproject"),
    "Faults of steps": faults,
    "Filed replies": wire,
    "Declarations and settings": lambda: (
        raised("WorkflowError", 0, "workers") | raised("BadSetting", 0, "workers")
    ),
}


def test_every_problem_of_a_delivery_that_is_raised_has_its_words() -> None:
    of_one_message = raised("BrokerRefused", 1, "workers/wire/confirmed.py") - set(reply_queue.OURS)
    problems = raised("Undelivered", 0, "workers") | of_one_message
    assert problems == set(delivery_problems.TEXTS)


@pytest.mark.parametrize("section", CATALOGUE)
def test_every_message_has_its_line_and_no_line_is_of_nothing(section: str) -> None:
    said, rows = CATALOGUE[section](), listed(section)
    assert said, "nothing was found in the code"
    assert len(rows) == len(set(rows)), "a line stands there twice"
    assert sorted(said - set(rows)) == [], f"errors.md, {section}: these lines are missing"
    assert sorted(set(rows) - said) == [], f"errors.md, {section}: nothing says this any more"


def test_every_status_has_its_line() -> None:
    rows = re.findall(r"^\| (\d{3}) \| .+ \| .+ \|$", sections()["HTTP statuses"], re.MULTILINE)
    assert {int(status) for status in rows} == set(OF_STATUS)


def test_every_exception_has_its_line() -> None:
    def below(kind: type[SASError]) -> set[str]:
        return {kind.__name__}.union(*(below(one) for one in kind.__subclasses__()))

    known = {name for name in below(SASError) if hasattr(exceptions, name)} - {"SASError"}
    of_the_shop = {"SubmissionRefused", "KeyReused", "OfferChanged", "ReturnRefused"}
    known |= {*of_the_shop, "ValueError", "TypeError"}
    assert set(listed("Exceptions")) == known
