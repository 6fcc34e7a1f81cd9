"""Routes: who is told of incidents, whether that works, a test of it, and their form."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.apps import apps
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext, to_locale
from django.views.decorators.http import require_POST

from workers.definitions.alert_kinds import IncidentKind
from workers.desk.admin import badges, changes
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.changes import Marker
from workers.desk.admin.delivery import answer_of, standing_mark
from workers.desk.admin.lists import LiveListAdmin, View, back_to, column, set_now
from workers.desk.models import Delivery, Route
from workers.desk.models.route import RouteKind
from workers.desk.notify import incident_relay
from workers.desk.operate.routes import fill_in, problems
from workers.desk.states import DeliveryState
from workers.desk.store import routes
from workers.models import Flow
from workers.store.db import dialect

KINDS = {
    IncidentKind.FAILURE: lazy("steps that fail"),
    IncidentKind.AGENT: lazy("services and their workers"),
    IncidentKind.DUTY: lazy("periodic duties"),
    IncidentKind.DEFINITION: lazy("code that no live worker has"),
    IncidentKind.SUBMITTER: lazy("submitters"),
    IncidentKind.INSTALLATION: lazy("what the doctor finds"),
    IncidentKind.OTHER: lazy("anything else"),
}
#: The language of the texts in the code.
SOURCE = "en"
#: Input types for which browsers have a clock and a calendar.
CLOCK = {"type": "time"}
CALENDAR = {"type": "datetime-local"}
#: The width of Django's own text fields.
WIDE = {"class": "vTextField"}


class RouteForm(forms.ModelForm):
    """A route as an operator fills it in."""

    address = forms.CharField(
        label=lazy("Address"),
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs=WIDE),
        help_text=lazy(
            "Mail addresses separated by commas, or the URL. Only the host of a URL is shown"
            " again; leave it as it is to keep it. Leave empty for PagerDuty."
        ),
    )
    secret = forms.CharField(
        label=lazy("Secret"),
        max_length=200,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", **WIDE}),
        help_text=lazy(
            "The secret that signs a webhook, or the integration key of PagerDuty. It is not"
            " shown again. Leave empty to keep it; a new webhook gets one. PagerDuty's is sent"
            " along: enter it again with another address."
        ),
    )
    kinds = forms.MultipleChoiceField(
        label=lazy("Kinds of incidents"),
        required=False,
        choices=[(kind.value, label) for kind, label in KINDS.items()],
        widget=forms.CheckboxSelectMultiple,
        help_text=lazy("None: of every kind."),
    )
    agents = forms.MultipleChoiceField(
        label=lazy("Agents"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=lazy("None: of every agent, and of what concerns none."),
    )
    quiet_from = forms.TimeField(
        label=lazy("Quiet from"),
        required=False,
        widget=forms.TimeInput(attrs=CLOCK, format="%H:%M"),
    )
    quiet_to = forms.TimeField(
        label=lazy("Quiet to"),
        required=False,
        widget=forms.TimeInput(attrs=CLOCK, format="%H:%M"),
        help_text=lazy("In the time zone below. Incidents still open at the end are sent then."),
    )
    language = forms.ChoiceField(label=lazy("Language"), required=False)
    muted_until = forms.DateTimeField(
        label=lazy("Muted until"),
        required=False,
        widget=forms.DateTimeInput(attrs=CALENDAR, format="%Y-%m-%dT%H:%M"),
        help_text=lazy("In the time zone of this page. Nothing is sent until then."),
    )
    #: A secret that was generated, to be shown once.
    new_secret = ""

    class Meta:
        model = Route
        fields: ClassVar = [
            *("name", "kind", "address", "secret", "least_severity", "kinds", "agents"),
            *("quiet_from", "quiet_to", "time_zone", "language", "repeat_seconds"),
            *("digest_seconds", "hourly_limit", "muted_until", "is_active"),
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        route = self.instance
        # The values before: Django writes the entered ones into the row itself.
        self._before = (route.kind, route.address, route.secret)
        self._masked = route.masked_address if route.pk else ""
        self.initial.update(address=self._masked, secret="")
        agents = Flow.objects.order_by("agent").values_list("agent", flat=True)
        fields: Any = self.fields
        # Agents that are gone stay visible, so that they can be removed.
        agent_names = sorted({*agents, *(route.agents or [])})
        fields["agents"].choices = [(name, name) for name in agent_names]
        fields["language"].choices = [
            ("", _("the installation's")),
            *((code, name) for code, name in settings.LANGUAGES if self._may_be_told_in(code)),
        ]

    def _may_be_told_in(self, code: str) -> bool:
        """Return whether messages are translated into a language: others would stay English."""
        if code in (SOURCE, self.instance.language):
            return True
        folders = [f"{apps.get_app_config('workers').path}/locale", *settings.LOCALE_PATHS]
        catalogue = Path(to_locale(code), "LC_MESSAGES", "django.mo")
        return any(Path(str(folder), catalogue).is_file() for folder in folders)

    def clean(self) -> dict[str, Any]:
        """Restore the values that were not shown and not entered again."""
        data = super().clean() or self.cleaned_data
        kind, address, secret = self._before
        is_same_kind = bool(self.instance.pk) and data.get("kind") == kind
        if is_same_kind and data.get("address") == self._masked:
            data["address"] = address
        # PagerDuty's key is sent along: another address needs it again, or others might read it.
        may_keep = kind != RouteKind.PAGERDUTY or data.get("address") in (address, "")
        if is_same_kind and may_keep and not data.get("secret"):
            data["secret"] = secret
        return data

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        self.new_secret = fill_in(self.instance)
        for name, problem in problems(self.instance).items():
            self.add_error(name, problem)


def kind_names(route: Route) -> list[str]:
    """Return the kinds of incidents that a route is for, in words."""
    return [str(KINDS.get(IncidentKind(kind), kind)) for kind in route.kinds if kind in KINDS]


TEST, MUTE = "desk.test_route", "desk.mute_route"
MUTED_SECONDS = 3600


def may(request: HttpRequest, permission: str) -> bool:
    user: Any = request.user
    return bool(user.has_perm(permission))


@require_POST
def test_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a test to a route at once, and report the answer."""
    if not may(request, TEST):
        raise PermissionDenied
    route = get_object_or_404(Route, pk=pk)
    is_delivered = incident_relay.test(route.pk, actor=actor(request))
    delivery = Delivery.objects.filter(route=route).order_by("-pk").first()
    if delivery is None:
        messages.warning(request, _("%(route)s is gone.") % {"route": route})
        return redirect("admin:desk_route_changelist")
    text = (
        _("Sent to %(route)s: %(answer)s") if is_delivered else _("%(route)s failed: %(answer)s")
    ) % {
        "route": route,
        "answer": answer_of(delivery) or _("the mail server took it."),
    }
    write_log(request, route, text, "")
    (messages.success if is_delivered else messages.error)(request, text)
    if request.POST.get("from") == "page":
        return redirect("admin:desk_route_change", route.pk)
    return back_to(request, "admin:desk_route_changelist")


@admin.action(description=lazy("Mute selected routes for an hour"), permissions=["mute"])
def mute_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Route]
) -> None:
    """Mute the selected routes for an hour; longer times are set on their pages."""
    until = dialect.read_clock() + timedelta(seconds=MUTED_SECONDS)
    rows = queryset.order_by("pk")
    count = sum(routes.mute(route, until, actor=actor(request)) for route in rows)
    text = ngettext("%(n)d route is muted.", "%(n)d routes are muted.", count) % {"n": count}
    messages.success(request, text)


@admin.action(description=lazy("Tell selected routes again"), permissions=["mute"])
def unmute_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Route]
) -> None:
    rows = queryset.order_by("pk")
    count = sum(routes.mute(route, None, actor=actor(request)) for route in rows)
    text = ngettext("%(n)d route is told again.", "%(n)d routes are told again.", count)
    messages.success(request, text % {"n": count})


def _standing(row: Any) -> SafeString:
    if not row.is_active:
        return badges.label(_("off"), "cancelled", "cancelled")
    if row.muted_until is not None and row.muted_until > row.now:
        until = badges.countdown(row.muted_until, row.now, _("%s left"))
        return format_html("{} {}", badges.label(_("muted"), "pending", "skipped"), until)
    if row.is_failing or (row.last is not None and row.last.state == DeliveryState.FAILED):
        return badges.label(_("failing"), "alert", "alert")
    return badges.label(_("on"), "processed", "processed")


def _told_of(row: Route) -> SafeString:
    parts = [str(row.get_least_severity_display()), *kind_names(row), *row.agents]
    return badges.message(", ".join(parts))


def _newest(row: Any) -> SafeString:
    if row.last is None:
        return badges.NOTHING
    return format_html(
        '{} <a class="sas-agent" href="{}">{}</a>',
        standing_mark(row.last),
        reverse("admin:desk_delivery_changelist") + f"?route__id__exact={row.pk}",
        badges.age(row.last.at, row.now),
    )


def _test(row: Any) -> SafeString:
    if not row.may_test:
        return badges.NOTHING
    url = reverse("admin:desk_route_test", args=[row.pk])
    return badges.button(url, _("Send a test"), _("Send a test to %(route)s") % {"route": row})


@admin.register(Route)
class RouteAdmin(LiveListAdmin):
    """Who is told of incidents."""

    form = RouteForm
    change_form_template = "admin/workers/route_page.html"
    list_display = ("name", "standing", "kind", "masked", "told_of", "newest", "test")
    never_asked = ("address", "secret")
    sortable_by = ()
    ordering = ("name",)
    actions = (mute_selected, unmute_selected)
    fieldsets = (
        (None, {"fields": ("name", "kind", "address", "secret", "is_active")}),
        (lazy("Which incidents"), {"fields": ("least_severity", "kinds", "agents")}),
        (
            lazy("When"),
            {
                "fields": (
                    *("repeat_seconds", "digest_seconds", "hourly_limit"),
                    *("quiet_from", "quiet_to", "time_zone", "muted_until"),
                )
            },
        ),
        (lazy("Words"), {"fields": ("language",)}),
    )

    def views(self) -> list[View]:
        return [("test", "<int:pk>/test/", test_one), *super().views()]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None or self.has_change_permission(request, obj):
            return super().get_fieldsets(request, obj)
        # A user who may only view sees nothing secret.
        shown = (*("masked", "told_of", "repeat_seconds", "digest_seconds", "hourly_limit"),)
        quiet = ("quiet_from", "quiet_to", "time_zone", "language", "muted_until", "is_active")
        return ((None, {"fields": ("name", "kind", *shown, *quiet)}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None or self.has_change_permission(request, obj):
            return ()
        return ("masked", "told_of")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Route]:
        deliveries = Delivery.objects.filter(route=OuterRef("pk"))
        rows: QuerySet[Route] = super().get_queryset(request)
        return rows.annotate(
            last_id=Subquery(deliveries.order_by("-pk").values("pk")[:1]),
            is_failing=Exists(deliveries.filter(state=DeliveryState.DUE, tries__gt=0)),
        )

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_deliveries()

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        deliveries = Delivery.objects.in_bulk([row.last_id for row in rows if row.last_id])
        for row in rows:
            row.last = deliveries.get(row.last_id)
            row.may_test = may(request, TEST)

    def has_mute_permission(self, request: HttpRequest) -> bool:
        return may(request, MUTE)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = {"may_test": may(request, TEST), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)

    def save_model(self, request: HttpRequest, obj: Route, form: Any, change: bool) -> None:
        routes.save(obj, actor=actor(request))
        if form.new_secret:
            text = _("Webhooks are signed with this secret, which is shown only now: %(secret)s")
            messages.warning(request, text % {"secret": form.new_secret})

    def delete_model(self, request: HttpRequest, obj: Route) -> None:
        routes.delete(obj, actor=actor(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Route]) -> None:
        for route in queryset.order_by("pk"):
            routes.delete(route, actor=actor(request))

    def get_deleted_objects(
        self, objs: Sequence[Any] | QuerySet[Any], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Count the deliveries that are deleted, too: to list each of them says nothing."""
        count = Delivery.objects.filter(route__in=objs).count()
        summary = ngettext("and %(n)d delivery", "and %(n)d deliveries", count) % {"n": count}
        model_count = {str(Delivery._meta.verbose_name_plural): count}
        return [*map(str, objs), summary], model_count, set(), []

    standing = column(lazy("state"), _standing)
    masked = column(lazy("address"), lambda row: badges.message(row.masked_address))
    told_of = column(lazy("told of"), _told_of)
    newest = column(lazy("last delivery"), _newest)
    test = column(lazy("test"), _test)
