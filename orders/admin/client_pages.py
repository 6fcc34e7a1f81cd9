"""The page of each act on an API client, and the page that shows a secret once."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from orders.admin.client_acts import Act, ActResult, NotNow, seen
from orders.admin.client_forms import NAME_TAKEN, RegisterForm
from orders.models import ApiClient
from workers import durable, record_act
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.lists import LiveMedia

REGISTER = "orders.register_client"


def view_of(act: Act) -> Callable[..., HttpResponse]:
    """Return the view of an act: it asks, and on POST does it once and logs who and why."""

    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, pk: int, prefix: str = "") -> HttpResponse:
        if not request.user.has_perm(act.permission):
            raise PermissionDenied
        client = get_object_or_404(ApiClient, pk=pk)
        if prefix and not client.tokens.filter(prefix=prefix).exists():
            raise Http404
        why_not = act.refusal(client, prefix)
        if request.method != "POST":
            return _ask(request, act, client, prefix, why_not=why_not)
        form = act.form(request.POST)
        if not form.is_valid():
            return _ask(request, act, client, prefix, form, why_not=why_not, status=400)
        try:
            done = _carry_out(request, act, pk, prefix, form.cleaned_data)
        except NotNow as refusal:
            client.refresh_from_db()
            return _ask(request, act, client, prefix, form, refusal=str(refusal), status=409)
        if done.secret and (not act.shown_to or request.user.has_perm(act.shown_to)):
            return _show(request, act, client, done)
        messages.success(request, done.said)
        return redirect("admin:orders_apiclient_change", pk)

    return view


def _carry_out(
    request: HttpRequest, act: Act, pk: int, prefix: str, given: dict[str, Any]
) -> ActResult:
    """Do it and log it, or raise ``NotNow`` and change nothing.

    A page that is sent again finds the client changed, so that reloading the page with a new
    token makes no second one.
    """
    with durable("admin.client"):
        client = ApiClient.objects.select_for_update().get(pk=pk)
        if seen(client) != given["seen"]:
            raise NotNow(
                _("%(client)s was changed since the page was opened. Look again.")
                % {"client": client}
            )
        if refusal := act.refusal(client, prefix):
            raise NotNow(refusal)
        done = act.do(client, prefix, given)
        write_log(request, client, done.said, given["reason"])
        _record(request, act.name, client, prefix=prefix, reason=given["reason"])
    return done


@require_http_methods(["GET", "HEAD", "POST"])
def register(request: HttpRequest) -> HttpResponse:
    """Ask for a new client's name; on POST add it, without any token yet."""
    if not request.user.has_perm(REGISTER):
        raise PermissionDenied
    form = RegisterForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            with durable("admin.client_register"):
                form.instance.created_at = timezone.now()
                client = form.save()
                said = _("%(client)s was added.") % {"client": client}
                write_log(request, client, said, form.cleaned_data["reason"])
                _record(request, "add", client, reason=form.cleaned_data["reason"])
        except IntegrityError:
            form.add_error("name", NAME_TAKEN)
        else:
            messages.success(request, _("%(said)s It has no token yet.") % {"said": said})
            return redirect("admin:orders_apiclient_change", client.pk)
    context = {"title": _("Add an API client"), "form": form, "button": _("Add it")}
    return _render(request, "act", context, status=400 if form.is_bound else 200)


def _record(request: HttpRequest, act: str, client: ApiClient, **detail: str) -> None:
    """Journal an act on a client, as the terminal does; no secret is in it."""
    record_act(f"client_{act}", {"client": client.name, **detail}, actor=actor(request))


def _ask(
    request: HttpRequest,
    act: Act,
    client: ApiClient,
    prefix: str,
    form: forms.Form | None = None,
    *,
    why_not: str = "",
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    """Show the form, or why there is none; after a refusal one for the client as it is now."""
    if form is None or refusal:
        initial: dict[str, Any] = {"requests_per_minute": client.requests_per_minute}
        if form is not None:
            initial |= {name: form[name].value() for name in form.fields}
        form = act.form(initial=initial | {"seen": seen(client)})
    why_not = why_not or act.refusal(client, prefix)
    context = {
        "title": f"{act.label}: {prefix or client}",
        "client": client,
        "act": act,
        "button": act.button,
        "form": None if why_not else form,
        "why_not": "" if refusal else why_not,
        "refusal": refusal,
    }
    return _render(request, "act", context, status=status)


def _show(request: HttpRequest, act: Act, client: ApiClient, done: ActResult) -> HttpResponse:
    """Answer with a secret: in this page alone, not in the session and not in a message."""
    context = {"title": f"{act.label}: {client}", "client": client, "act": act, "done": done}
    return _render(request, "secret", context)


def _render(
    request: HttpRequest, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "opts": ApiClient._meta,
        "media": forms.Media(LiveMedia),
        **context,
    }
    return TemplateResponse(request, f"admin/orders/client/{name}.html", context, status=status)
