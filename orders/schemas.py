"""The messages of the HTTP API and the queue, one model for each."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from django.core.exceptions import ValidationError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from orders import plain_text
from orders.plain_text import CONTROL, CONTROL_CHARACTERS, UNSEEN
from workers import Outcome
from workers.states import ProcessState, StepState


def _one_line(text: str) -> str:
    if CONTROL_CHARACTERS.search(text):
        raise ValueError("contains control characters; send plain text of one line")
    if not plain_text.is_visible(text):
        raise ValueError("is empty; send some text")
    return text.strip()


def _name(text: str) -> str:
    return _one_line(plain_text.composed(text))


def _lines(text: str) -> str:
    text = plain_text.composed(text.replace("\r\n", "\n"))
    if CONTROL_CHARACTERS.search(text.replace("\n", "")):
        raise ValueError("contains control characters; send plain text")
    if not plain_text.is_visible(text):
        raise ValueError("is empty; send some text")
    return text.strip()


def _label(text: str) -> str:
    if CONTROL_CHARACTERS.search(text):
        raise ValueError("contains control characters; send plain text of one line")
    return text


def _email(text: str) -> str:
    # Django accepts some of them between quotes.
    if CONTROL_CHARACTERS.search(text):
        raise ValueError("contains control characters; send plain text of one line")
    try:
        return plain_text.email(text)
    except ValidationError as error:
        if error.code == "not_ascii":
            message = "has letters outside ASCII before the @; send an address without them"
        else:
            message = "is no e-mail address; send one such as ann@example.org"
        raise ValueError(message) from None


#: The same rules as patterns for the API's description: no control characters, not only spaces.
LABEL = rf"^[^{CONTROL}]*$"
ONE_LINE = rf"^[^{CONTROL}]*[^\s{CONTROL}{UNSEEN}][^{CONTROL}]*$"
LINES = rf"^([^{CONTROL}]|\r?\n)*[^\s{CONTROL}{UNSEEN}]([^{CONTROL}]|\r?\n)*$"

#: The rules for a webhook's address that need no DNS; see ``workers.http.ssrf_guard``.
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
#: A name never ends in a number.
_NAME = rf"(?:{_LABEL}\.)*(?=[^.:/?]*[A-Za-z_-]){_LABEL}\.?"
_HOST = rf"(?:{_NAME}|(?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}}|\[[0-9A-Fa-f:.]+\])"
_HIGH = "6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
_PORT = rf"(?::(?:0*(?:[1-9][0-9]{{0,3}}|[1-5][0-9]{{4}}|{_HIGH}))?)?"
_REST = r"(?:[/?][A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]*)?"
WEBHOOK = rf"^(?:https://{_HOST}{_PORT}{_REST})?$"


def _pattern(pattern: str) -> dict[str, Any]:
    # In the description only: our own messages say more than that a pattern does not match.
    return {"pattern": pattern}


def _one_of(*names: str) -> dict[str, Any]:
    return {"enum": list(names)}


#: The events that a client sees in the journal; see docs/reference/journal.md.
EVENTS = (
    *("submitted", "started", "processed", "error", "compensating", "compensated", "cancelled"),
    *("resubmitted", "resumed", "begins_again", "paused", "unpaused", "input_edited"),
    *("deadline_passed", "restored", "condition_failed", "deferred", "failed"),
    *(
        "expired",
        "refused",
        "outcome_unknown",
        "key_expired",
        "done_by_hand",
        "fell_back",
        "waits_long",
    ),
    "skipped",
)
STATES = tuple(dict.fromkeys([*ProcessState.values, *StepState.values]))
#: Enumerated in the description only, so that no answer can fail validation.
State = Annotated[str, Field(json_schema_extra=_one_of(*ProcessState.values))]
StateOfStep = Annotated[str, Field(json_schema_extra=_one_of(*StepState.values))]
#: A client's own name for an order; also a query parameter, which the JSON reader does not check.
Reference = Annotated[
    str, Field(max_length=100, json_schema_extra=_pattern(LABEL)), AfterValidator(_label)
]


def _whole(value: Any) -> Any:
    # In JSON Schema 1.0 is an integer, too.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _may_be_left_out(schema: dict[str, Any]) -> None:
    # Client generators treat a property with a default as always present.
    for field in schema["properties"].values():
        field.pop("default", None)


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_may_be_left_out)


class CustomerIn(_Message):
    """Who orders."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=120, json_schema_extra=_pattern(ONE_LINE)),
        AfterValidator(_name),
    ]
    email: Annotated[
        str,
        Field(
            min_length=3, max_length=254, json_schema_extra={"format": "email"} | _pattern(LABEL)
        ),
        AfterValidator(_email),
    ]
    address: Annotated[
        str,
        Field(min_length=1, max_length=500, json_schema_extra=_pattern(LINES)),
        AfterValidator(_lines),
    ]


class LineIn(_Message):
    """How many of what."""

    sku: Annotated[
        str,
        Field(min_length=1, max_length=40, json_schema_extra=_pattern(ONE_LINE)),
        AfterValidator(_one_line),
    ]
    # The bounds come first: after a validator they would be missing in the JSON Schema.
    quantity: Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_whole)]


def _with_example(schema: dict[str, Any]) -> None:
    _may_be_left_out(schema)
    schema["example"] = {
        "customer": {
            "name": "Ada Lovelace",
            "email": "ada@example.org",
            "address": "12 St James's Square\nLondon",
        },
        "lines": [{"sku": "SKU-001", "quantity": 2}],
        "reference": "cart-4711",
    }


class OrderIn(_Message):
    """An order as it is placed."""

    model_config = ConfigDict(json_schema_extra=_with_example)

    customer: CustomerIn
    lines: Annotated[list[LineIn], Field(min_length=1, max_length=100)]
    reference: Reference = ""
    #: Sinks of the order's events: a reply queue of the client's own, and a webhook.
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
            json_schema_extra=_pattern(WEBHOOK),
        ),
    ] = ""


class StepOut(BaseModel):
    """Where a step of an order stands."""

    name: str
    state: StateOfStep
    attempt: int
    failure_count: int
    failure_threshold: int
    complete_by: datetime | None
    not_before: datetime | None
    explanation: str


class MoneyOut(BaseModel):
    """What the services say of an order's money, whatever its state; sums are decimal strings."""

    paid: Decimal
    refunded: Decimal
    #: What the buyer is to get back and has not got.
    owed: Decimal
    #: Nobody knows yet whether the payment was taken.
    in_doubt: bool


class OrderOut(BaseModel):
    """Where an order stands."""

    id: UUID
    number: int
    state: State
    reference: str
    #: Money is a decimal string.
    total: Decimal
    money: MoneyOut
    created_at: datetime
    finished_at: datetime | None
    sequence: int
    headline: str
    steps: list[StepOut]


class OrderLineOut(BaseModel):
    """An order in a list: without its steps."""

    id: UUID
    number: int
    state: State
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
    event: Annotated[str, Field(json_schema_extra=_one_of(*EVENTS))]
    #: Empty where it is an event of the order itself.
    step: str | None
    state: Annotated[str | None, Field(json_schema_extra=_one_of(*STATES, None))]
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

    #: The address of a page that explains the problem, below that of the API.
    type: str
    #: For programs: the last part of ``type``.
    code: str
    title: str
    status: int
    detail: str
    #: Names this occurrence, also in the server's log.
    instance: str
    errors: list[FieldProblem] = []


class FaultIn(_Message):
    """Why deferred work failed: permanent, refused (a business answer) or transient."""

    kind: Literal["permanent", "refused", "transient"]
    code: Annotated[
        str,
        Field(min_length=1, max_length=60, json_schema_extra=_pattern(ONE_LINE)),
        AfterValidator(_one_line),
    ]
    message: Annotated[str, Field(max_length=500)] = ""
    #: True: proof that nothing happened.  By default only ``refused`` proves that.
    no_effect: bool | None = None


def _exactly_one(schema: dict[str, Any]) -> None:
    fields = schema.pop("properties")
    for word in ("type", "additionalProperties"):
        schema.pop(word)
    schema["oneOf"] = [
        {
            "type": "object",
            "title": name,
            "required": [name],
            "properties": {name: next(kind for kind in field["anyOf"] if kind != {"type": "null"})},
            "additionalProperties": False,
        }
        for name, field in fields.items()
    ]


class CallbackIn(_Message):
    """The answer to a deferred step: exactly one of its fields."""

    model_config = ConfigDict(json_schema_extra=_exactly_one)

    result: dict[str, Any] | None = None
    fault: FaultIn | None = None
    progress: dict[str, Any] | None = None


class CallbackOut(BaseModel):
    """What became of an answer: accepted, kept, repeated, ignored, or noted (progress)."""

    outcome: Annotated[str, Field(json_schema_extra=_one_of(*Outcome, "noted"))]


class WebhookOut(BaseModel):
    """What became of a webhook: accepted, kept (it came early), repeated or ignored."""

    outcome: Annotated[str, Field(json_schema_extra=_one_of(*Outcome))]
