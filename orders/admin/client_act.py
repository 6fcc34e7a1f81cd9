"""The frame of acts on API clients: each is done once, logged, and may show a secret once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django import forms
from django.contrib import admin, messages
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders.admin.client_forms import NAME_TAKEN, ActForm, RegisterForm
from orders.models import ApiClient
from workers import StateError, durable, record_act
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.lists import LiveMedia


@dataclass(frozen=True, slots=True)
class ActResult:
    """What an act did.  ``said`` is told and logged; ``secret`` goes into one page and no log."""

    said: str
    secret: str = ""
    #: What the secret is, for people.
    secret_is: str = ""


def seen(client: ApiClient) -> str:
    """Return what an operator has seen of a client: whoever acts on an old page is told so."""
    newest = client.tokens.order_by("-pk").values_list("pk", flat=True).first()
    ended = client.tokens.exclude(revoked_at=None).count()
    rotated = client.old_webhook_secret_until
    at = rotated.timestamp() if rotated else 0
    return f"{client.is_active:d}:{client.requests_per_minute}:{newest}:{ended}:{at}"


def record(request: HttpRequest, act: str, client: ApiClient, **detail: str) -> None:
    """Journal an act on a client, as the terminal does; no secret is in it."""
    record_act(f"client_{act}", {"client": client.name, **detail}, actor=actor(request))


class Target(NamedTuple):
    """A client, and the beginning of the token that an act is about; empty: all of them."""

    client: ApiClient
    prefix: str


@dataclass(frozen=True)
class Act(RowAct):
    """One thing that an operator may do about a client, or about one of its tokens."""

    name: str
    #: Below the client's address.
    address: str
    label: Any
    button: Any
    permission: str
    sentence: Any
    #: Does it; raises ``StateError`` where that is not possible.
    do: Callable[[ApiClient, str, dict[str, Any]], ActResult]
    #: Why it is not possible just now; empty: it is.
    refusal: Callable[[ApiClient, str], str]
    form: type[ActForm] = ActForm
    is_grave: bool = False
    #: Its secret is shown to those only who also have this permission.
    shown_to: str = ""

    model = ApiClient
    template = "admin/orders/client/act.html"

    @property
    def is_of_token(self) -> bool:
        return "<slug:prefix>" in self.address

    def find(self, request: HttpRequest, **address: Any) -> Target:
        client = get_object_or_404(ApiClient, pk=address["pk"])
        prefix = address.get("prefix", "")
        if prefix and not client.tokens.filter(prefix=prefix).exists():
            raise Http404
        return Target(client, prefix)

    def why_not(self, row: Target) -> str:
        return self.refusal(row.client, row.prefix)

    def initial(self, request: HttpRequest, row: Target) -> dict[str, Any]:
        return {"requests_per_minute": row.client.requests_per_minute, "seen": seen(row.client)}

    def perform(self, request: HttpRequest, row: Target, given: dict[str, Any]) -> ActResult:
        """Do it and log it, or raise ``StateError`` and change nothing.

        A page that is sent again finds the client changed, so that reloading the page with a new
        token makes no second one.
        """
        with durable("admin.client"):
            client = ApiClient.objects.select_for_update().get(pk=row.client.pk)
            if seen(client) != given["seen"]:
                raise StateError(
                    _("%(client)s was changed since the page was opened. Look again.")
                    % {"client": client}
                )
            if refusal := self.refusal(client, row.prefix):
                raise StateError(refusal)
            result = self.do(client, row.prefix, given)
            write_log(request, client, result.said, given["reason"])
            record(request, self.name, client, prefix=row.prefix, reason=given["reason"])
        return result

    def done(
        self, request: HttpRequest, row: Target, result: ActResult, given: dict[str, Any]
    ) -> HttpResponse:
        if not result.secret or (self.shown_to and not request.user.has_perm(self.shown_to)):
            messages.success(request, result.said)
            return redirect(self.url(request, row))
        # In this page alone, not in the session and not in a message.
        context = {
            **admin.site.each_context(request),
            "opts": ApiClient._meta,
            "media": forms.Media(LiveMedia),
            "title": f"{self.label}: {row.client}",
            "client": row.client,
            "act": self,
            "done": result,
        }
        return TemplateResponse(request, "admin/orders/client/secret.html", context)

    def url(self, request: HttpRequest, row: Target) -> str:
        return reverse("admin:orders_apiclient_change", args=[row.client.pk])

    def context(self, request: HttpRequest, row: Target) -> dict[str, Any]:
        return {
            "title": f"{self.label}: {row.prefix or row.client}",
            "client": row.client,
            "back_url": self.url(request, row),
            "back": _("Back to %(name)s") % {"name": row.client},
        }


class Register(RowAct):
    """Add a client, without any token yet."""

    model = ApiClient
    permission = "orders.register_client"
    label = lazy("Add an API client")
    button = lazy("Add it")
    sentence = ""
    form = RegisterForm
    template = "admin/orders/client/act.html"

    def find(self, request: HttpRequest, **address: Any) -> None:
        return None

    def perform(self, request: HttpRequest, row: None, given: dict[str, Any]) -> ApiClient:
        names = ("name", "requests_per_minute")
        client = ApiClient(**{name: given[name] for name in names}, created_at=timezone.now())
        try:
            with durable("admin.client_register"):
                client.save(force_insert=True)
                said = _("%(client)s was added.") % {"client": client}
                write_log(request, client, said, given["reason"])
                record(request, "add", client, reason=given["reason"])
        except IntegrityError:
            raise StateError(str(NAME_TAKEN)) from None
        return client

    def done(
        self, request: HttpRequest, row: None, result: ApiClient, given: dict[str, Any]
    ) -> HttpResponse:
        said = _("%(client)s was added. It has no token yet.") % {"client": result}
        messages.success(request, said)
        return redirect("admin:orders_apiclient_change", result.pk)

    def context(self, request: HttpRequest, row: None) -> dict[str, Any]:
        back_url = reverse("admin:orders_apiclient_changelist")
        return {"title": self.label, "back_url": back_url, "back": _("Back to the list")}


REGISTER = Register()
