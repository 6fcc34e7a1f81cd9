"""The page on which a user of the admin chooses the time zone and the keys."""

from dataclasses import asdict
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin.lists import LiveMedia
from workers.desk.admin.middleware import KEPT_ZONE, KEYS_OFF
from workers.desk.models import Preferences
from workers.desk.store import preferences


class _ZoneMedia:
    js = (Script("workers/time_zone.js", defer=True),)


class TimeZoneForm(forms.Form):
    time_zone = forms.ChoiceField(
        label=lazy("Time zone"),
        required=False,
        help_text=lazy("Every time in the admin is shown in it, with its name."),
    )

    has_keys = forms.BooleanField(
        label=lazy("Keys"),
        required=False,
        help_text=lazy("In lists: / j k x o r g, and ? which says what each does."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ours = _("%(zone)s, as installed") % {"zone": settings.TIME_ZONE}
        names = sorted(available_timezones())
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", ours), *((name, name) for name in names)]


@admin.register(Preferences)
class PreferencesAdmin(ReadOnlyAdmin):
    """The user's own preferences, in place of a list of everybody's."""

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [path("", wrap(self.changelist_view), name="desk_preferences_changelist")]

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        # It is not a list of rows: the time zone at the top of each page links here.
        return {}

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Else their user could not be deleted; no page here deletes any.
        return True

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        user_id = request.user.pk
        if user_id is None:
            raise PermissionDenied
        initial = asdict(preferences.of_user(user_id))
        form = TimeZoneForm(request.POST if request.method == "POST" else None, initial=initial)
        if form.is_valid():
            preferences.set_time_zone(user_id, form.cleaned_data["time_zone"])
            request.session[KEPT_ZONE] = form.cleaned_data["time_zone"]
            preferences.set_keys(user_id, is_on=form.cleaned_data["has_keys"])
            request.session[KEYS_OFF] = not form.cleaned_data["has_keys"]
            messages.success(request, _("Times are shown in the time zone that you chose."))
            return redirect("admin:index")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Time zone"),
            "form": form,
            "opts": self.opts,
            "media": forms.Media(LiveMedia) + forms.Media(_ZoneMedia),
        }
        status = 400 if form.is_bound else 200
        return TemplateResponse(request, "admin/workers/preferences.html", context, status=status)
