"""The form of a route: its secrets can be set, and are never shown again."""

from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.apps import apps
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import to_locale

from workers.definitions.alert_kinds import IncidentKind
from workers.desk.models import Route
from workers.desk.models.route import RouteKind
from workers.desk.operate import routes
from workers.models import Flow

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
            "Mail addresses with commas between them, or the URL. Of a URL only the host is shown"
            " again; left as it is, it stays what it was. For PagerDuty leave it empty."
        ),
    )
    secret = forms.CharField(
        label=lazy("Secret"),
        max_length=200,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", **WIDE}),
        help_text=lazy(
            "What a webhook is signed with, or the integration key of PagerDuty. It is not shown"
            " again. Left empty, it stays what it was, or a new webhook gets one. PagerDuty's is"
            " sent along: it has to be entered again with another address."
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
        help_text=lazy("In the time zone below. What is still open then is told afterwards."),
    )
    language = forms.ChoiceField(label=lazy("Language"), required=False)
    muted_until = forms.DateTimeField(
        label=lazy("Muted until"),
        required=False,
        widget=forms.DateTimeInput(attrs=CALENDAR, format="%Y-%m-%dT%H:%M"),
        help_text=lazy("In the time zone of this page. Until then it is told of nothing."),
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
        self.new_secret = routes.fill_in(self.instance)
        for name, problem in routes.problems(self.instance).items():
            self.add_error(name, problem)


def kind_names(route: Route) -> list[str]:
    """Return the kinds of incidents that a route is for, in words."""
    return [str(KINDS.get(IncidentKind(kind), kind)) for kind in route.kinds if kind in KINDS]
