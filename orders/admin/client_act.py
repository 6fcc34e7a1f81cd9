"""Actions on API clients and their forms: each is performed once, logged, may show a secret."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders import tokens
from orders.models import ApiClient
from workers import StateError, durable, record_act
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.lists import own_page

NAME_TAKEN = lazy("There is a client of this name already.")
LIMIT: dict[str, Any] = {"min_value": 1, "max_value": 1_000_000}


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=lazy("Reason"),
        max_length=500,
        help_text=lazy("Kept in the log with your name. No secrets, please."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class ActForm(ReasonForm):
    #: The client's version on the page; the action is refused if the client has changed since.
    seen = forms.CharField(widget=forms.HiddenInput, max_length=64)


class IssueForm(ActForm):
    """A new token's scopes and lifetime."""

    scopes = forms.MultipleChoiceField(
        label=lazy("It may"),
        choices=[
            (tokens.SUBMIT, lazy("submit: place orders")),
            (tokens.READ, lazy("read: follow its own orders")),
            (tokens.OPERATE, lazy("operate: cancel its own orders")),
        ],
        initial=(tokens.SUBMIT, tokens.READ),
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.IntegerField(
        label=lazy("Valid for, in days"),
        required=False,
        min_value=1,
        max_value=tokens.MOST_DAYS,
        help_text=lazy("Empty: until it is revoked."),
    )

    field_order = ("scopes", "days", "reason")

    def clean(self) -> dict[str, Any]:
        self.cleaned_data["expires_at"] = _end(self.cleaned_data.get("days"))
        return self.cleaned_data


class OverlapForm(ActForm):
    """How long the old token or secret stays valid beside the new one."""

    overlap_hours = forms.IntegerField(
        label=lazy("Overlap, in hours"),
        initial=24,
        min_value=0,
        max_value=tokens.MOST_OVERLAP_HOURS,
        help_text=lazy("What is in use now stays valid for this long. 0: it ends at once."),
    )

    field_order: tuple[str, ...] = ("overlap_hours", "reason")

    def clean_overlap_hours(self) -> timedelta:
        return timedelta(hours=self.cleaned_data["overlap_hours"])


class RotateForm(OverlapForm):
    """The overlap, and the new token's lifetime."""

    days = IssueForm.base_fields["days"]

    field_order = ("overlap_hours", "days", "reason")

    def clean(self) -> dict[str, Any]:
        self.cleaned_data["expires_at"] = _end(self.cleaned_data.get("days"))
        return self.cleaned_data


class LimitForm(ActForm):
    requests_per_minute = forms.IntegerField(
        label=lazy("Requests a minute"),
        **LIMIT,
        help_text=lazy("Of all its tokens together. To stop a client, deactivate it."),
    )

    field_order = ("requests_per_minute", "reason")


class RegisterForm(forms.ModelForm):
    requests_per_minute = forms.IntegerField(label=lazy("Requests a minute"), initial=600, **LIMIT)
    reason = ReasonForm.base_fields["reason"]

    class Meta:
        model = ApiClient
        fields = ("name", "requests_per_minute")
        error_messages = {"name": {"unique": NAME_TAKEN}}
        help_texts = {
            "name": lazy(
                "Letters, digits, - and _. It cannot be changed: orders and reply queues carry it."
            )
        }


def _end(days: int | None) -> datetime | None:
    return timezone.now() + timedelta(days=days) if days else None


@dataclass(frozen=True, slots=True)
class ActResult:
    """``message`` is shown and logged; ``secret`` goes into one page and into no log."""

    message: str
    secret: str = ""
    secret_title: str = ""


def version_of(client: ApiClient) -> str:
    """Return the version of a client that a page shows, so that acting on an old one is refused."""
    newest = client.tokens.order_by("-pk").values_list("pk", flat=True).first()
    revoked = client.tokens.exclude(revoked_at=None).count()
    old_secret_until = client.old_webhook_secret_until
    until = old_secret_until.timestamp() if old_secret_until else 0
    return f"{client.is_active:d}:{client.requests_per_minute}:{newest}:{revoked}:{until}"


def record(request: HttpRequest, act: str, client: ApiClient, **detail: str) -> None:
    """Journal an action on a client, as the terminal does, without any secret."""
    record_act(f"client_{act}", {"client": client.name, **detail}, actor=actor(request))


class Target(NamedTuple):
    """A client, and the prefix of the token to act on; empty: all tokens."""

    client: ApiClient
    prefix: str


@dataclass(frozen=True)
class Act(RowAct):
    """An action of an operator on a client, or on one of its tokens."""

    name: str
    label: Any
    button: Any
    permission: str
    sentence: Any
    #: Performs the action; raises ``StateError`` if it is not possible.
    do: Callable[[ApiClient, str, dict[str, Any]], ActResult]
    #: Returns why the action is not possible now; empty: it is.
    refusal: Callable[[ApiClient, str], str]
    form: type[ActForm] = ActForm
    is_grave: bool = False
    #: A further permission, without which the secret is not shown.
    shown_to: str = ""
    address: str = ""

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
        return {
            "requests_per_minute": row.client.requests_per_minute,
            "seen": version_of(row.client),
        }

    def perform(self, request: HttpRequest, row: Target, data: dict[str, Any]) -> ActResult:
        """Perform and log the action, or raise ``StateError`` and change nothing.

        A form that is sent twice is refused the second time, because the client has changed:
        reloading the page that shows a new token issues no second one.
        """
        with durable("admin.client"):
            client = ApiClient.objects.select_for_update().get(pk=row.client.pk)
            if version_of(client) != data["seen"]:
                raise StateError(
                    _("%(client)s was changed since the page was opened. Look again.")
                    % {"client": client}
                )
            if refusal := self.refusal(client, row.prefix):
                raise StateError(refusal)
            result = self.do(client, row.prefix, data)
            write_log(request, client, result.message, data["reason"])
            record(request, self.name, client, prefix=row.prefix, reason=data["reason"])
        return result

    def done(
        self, request: HttpRequest, row: Target, result: ActResult, data: dict[str, Any]
    ) -> HttpResponse:
        if not result.secret or (self.shown_to and not request.user.has_perm(self.shown_to)):
            messages.success(request, result.message)
            return redirect(self.url(request, row))
        # The secret is in this response only, neither in the session nor in a message.
        context = {
            "title": f"{self.label}: {row.client}",
            "client": row.client,
            "act": self,
            "done": result,
        }
        return own_page(request, "admin/orders/client/secret.html", ApiClient, context)

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
    name, address = "register", "register/"
    permission = "orders.register_client"
    label = lazy("Add an API client")
    button = lazy("Add it")
    sentence = ""
    form = RegisterForm
    template = "admin/orders/client/act.html"

    def find(self, request: HttpRequest, **address: Any) -> None:
        return None

    def perform(self, request: HttpRequest, row: None, data: dict[str, Any]) -> ApiClient:
        names = ("name", "requests_per_minute")
        client = ApiClient(**{name: data[name] for name in names}, created_at=timezone.now())
        try:
            with durable("admin.client_register"):
                client.save(force_insert=True)
                message = _("%(client)s was added.") % {"client": client}
                write_log(request, client, message, data["reason"])
                record(request, "add", client, reason=data["reason"])
        except IntegrityError:
            raise StateError(str(NAME_TAKEN)) from None
        return client

    def done(
        self, request: HttpRequest, row: None, result: ApiClient, data: dict[str, Any]
    ) -> HttpResponse:
        message = _("%(client)s was added. It has no token yet.") % {"client": result}
        messages.success(request, message)
        return redirect("admin:orders_apiclient_change", result.pk)

    def context(self, request: HttpRequest, row: None) -> dict[str, Any]:
        back_url = reverse("admin:orders_apiclient_changelist")
        return {"title": self.label, "back_url": back_url, "back": _("Back to the list")}


REGISTER = Register()
