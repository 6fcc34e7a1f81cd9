"""What programs send and get: one model per message, whichever door it comes through."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from orders.forms import CONTROL_CHARACTERS


def _one_line(text: str) -> str:
    if CONTROL_CHARACTERS.search(text):
        raise ValueError("contains control characters; send plain text of one line")
    if not text.strip():
        raise ValueError("is empty; send some text")
    return text.strip()


def _lines(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if CONTROL_CHARACTERS.search(text.replace("\n", "")):
        raise ValueError("contains control characters; send plain text")
    if not text.strip():
        raise ValueError("is empty; send some text")
    return text.strip()


def _label(text: str) -> str:
    if CONTROL_CHARACTERS.search(text):
        raise ValueError("contains control characters; send plain text of one line")
    return text


def _email(text: str) -> str:
    # Django takes some of them between quotes.
    if CONTROL_CHARACTERS.search(text):
        raise ValueError("contains control characters; send plain text of one line")
    try:
        validate_email(text)
    except ValidationError:
        raise ValueError("is no e-mail address; send one such as ann@example.org") from None
    return text


#: A client's own name for an order; in a query, too, where no reader of JSON has looked at it.
Reference = Annotated[str, Field(max_length=100), AfterValidator(_label)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CustomerIn(_Message):
    """Who orders."""

    name: Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_one_line)]
    email: Annotated[
        str,
        Field(min_length=3, max_length=254, json_schema_extra={"format": "email"}),
        AfterValidator(_email),
    ]
    address: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_lines)]


class LineIn(_Message):
    """How many of what."""

    sku: Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_one_line)]
    quantity: Annotated[int, Field(ge=1, le=1_000_000)]


class OrderIn(_Message):
    """An order as it is placed."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "example": {
                "customer": {
                    "name": "Ada Lovelace",
                    "email": "ada@example.org",
                    "address": "12 St James's Square\nLondon",
                },
                "lines": [{"sku": "SKU-001", "quantity": 2}],
                "reference": "cart-4711",
            }
        },
    )

    customer: CustomerIn
    lines: Annotated[list[LineIn], Field(min_length=1, max_length=100)]
    reference: Reference = ""
    #: Who is told what happens to it: a reply queue of the client's own, and a webhook.
    reply_to: Annotated[
        str,
        Field(
            max_length=200,
            description="A queue under your own prefix, replies.<client>., that is told of every "
            "change.",
        ),
    ] = ""
    callback_url: Annotated[
        str,
        Field(
            max_length=500,
            description="A public https address that every change is posted to, signed as "
            "Standard Webhooks has it.",
        ),
    ] = ""


class StepOut(BaseModel):
    """Where a step of an order stands."""

    name: str
    state: str
    attempt: int
    failure_count: int
    failure_threshold: int
    complete_by: datetime | None
    not_before: datetime | None
    explanation: str


class OrderOut(BaseModel):
    """Where an order stands."""

    id: UUID
    number: int
    state: str
    reference: str
    #: Money is a decimal string.
    total: Decimal
    created_at: datetime
    finished_at: datetime | None
    sequence: int
    headline: str
    steps: list[StepOut]


class OrderLineOut(BaseModel):
    """An order in a list: without its steps."""

    id: UUID
    number: int
    state: str
    reference: str
    total: Decimal
    created_at: datetime


class OrdersOut(BaseModel):
    """A page of orders, newest first; ``next`` asks for the page after it."""

    orders: list[OrderLineOut]
    next: str | None


class EventOut(BaseModel):
    """Something that happened to an order; numbered 1, 2, 3... without gaps."""

    sequence: int
    event: str
    step: str | None
    state: str | None
    at: datetime


class JournalOut(BaseModel):
    """What happened to an order, in order."""

    events: list[EventOut]


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    field: str
    problem: str


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []


class FaultIn(_Message):
    """Why deferred work failed: permanent, refused (a business answer) or transient."""

    kind: Annotated[str, Field(pattern="^(permanent|refused|transient)$")]
    code: Annotated[str, Field(min_length=1, max_length=60), AfterValidator(_one_line)]
    message: Annotated[str, Field(max_length=500)] = ""


class CallbackIn(_Message):
    """The answer to a deferred step: exactly one of its fields."""

    result: dict[str, Any] | None = None
    fault: FaultIn | None = None
    progress: dict[str, Any] | None = None


class CallbackOut(BaseModel):
    """What became of an answer: accepted, kept, repeated, ignored, or noted (progress)."""

    outcome: str


class WebhookOut(BaseModel):
    """What became of a webhook: accepted, kept (it came early), repeated or ignored."""

    outcome: str
