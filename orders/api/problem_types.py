"""The types of problem documents: stable codes, each with a page at its address."""

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A code for programs; its meaning and remedy are shown to people on its page."""

    code: str
    status: int
    means: str
    remedy: str

    @property
    def title(self) -> str:
        return self.code.replace("-", " ").capitalize()

    @property
    def uri(self) -> str:
        return reverse("api:problem", args=[self.code])


_TYPES = (
    ProblemType(
        "malformed-request",
        400,
        "The body is not JSON that this system reads, or its length is wrong: NaN, NUL, a name "
        "given twice, nesting deeper than 16.",
        "Fix the client. Sending the same again will not help.",
    ),
    ProblemType(
        "not-authenticated",
        401,
        "The token, or the signature of a webhook, is missing or not valid.",
        "Send a token that is neither expired nor revoked.",
    ),
    ProblemType(
        "scope-missing", 403, "The token lacks the scope of this operation.", "Use one that has it."
    ),
    ProblemType(
        "not-found",
        404,
        "Nothing is there, or nothing of yours. A callback token has expired or is not ours.",
        "Check the address.",
    ),
    ProblemType(
        "method-not-allowed", 405, "The address takes other methods.", "See the header Allow."
    ),
    ProblemType(
        "wrong-state",
        409,
        "The order is final or past its point of no return, or it cannot be sent back (again).",
        "Check the order. Sending the same again will not help.",
    ),
    ProblemType(
        "length-required",
        411,
        "The body came in chunks, without Content-Length.",
        "Send it in one piece.",
    ),
    ProblemType("too-large", 413, "The body has more than 64 KiB.", "Send less at once."),
    ProblemType(
        "encoding-not-supported", 415, "The body is compressed.", "Send the JSON as it is."
    ),
    ProblemType(
        "fields-invalid",
        422,
        "Fields of the request are invalid; errors names each of them and what is wrong with it.",
        "Correct these fields and send it again with the same key.",
    ),
    ProblemType(
        "order-refused",
        422,
        "The shop does not take this order: a product that is not sold or sold out, a sum that is "
        "too high, a webhook address that cannot be called. errors names the fields.",
        "Correct these fields and send it again with the same key.",
    ),
    ProblemType(
        "key-reused",
        422,
        "The Idempotency-Key belongs to an order with another body; detail names that order.",
        "Send a new order with a new key, or the first one with its own body.",
    ),
    ProblemType(
        "too-many-requests",
        429,
        "More requests came in a minute than this client, or this provider, may send.",
        "Wait Retry-After seconds.",
    ),
    ProblemType(
        "unavailable",
        503,
        "It cannot be done at the moment; whether anything was stored is not known.",
        "Send it again after Retry-After seconds, an order with the same key: there will be one.",
    ),
)
TYPES = {kind.code: kind for kind in _TYPES}
#: The default type of each status: the first that is listed.
OF_STATUS = {kind.status: kind for kind in reversed(_TYPES)}


def page(request: HttpRequest, code: str) -> HttpResponse:
    """Show the page of a problem type, at the address in ``type``."""
    if code not in TYPES:
        raise Http404
    return render(request, "orders/problem_type.html", {"problem": TYPES[code]})
