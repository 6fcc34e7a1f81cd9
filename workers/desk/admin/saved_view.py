"""Saved views: all that a user may see, with counts; saved, renamed, shared and deleted here."""

from itertools import chain
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_POST, require_safe

from workers.desk.admin import badges, view_lists
from workers.desk.admin.lists import AskableListAdmin, LiveMedia, View, column
from workers.desk.admin.view_lists import SaveForm, ViewListAdmin
from workers.desk.models import SavedView
from workers.desk.rules import saved_views as rules
from workers.desk.rules.saved_views import ViewError
from workers.desk.store import saved_views
from workers.exceptions import StateError

CHANGE, DELETE = "desk.change_savedview", "desk.delete_savedview"


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the filters of a list as a view, and report the result above the list."""
    model_admin = _list_with_label(request, request.POST.get("list", ""))
    params, form = QueryDict(request.POST.get("query", "")), SaveForm(request.POST)
    response = redirect(f"{model_admin.list_url}?{params.urlencode()}")
    if not form.is_valid():
        messages.error(request, " ".join(map(str, chain(*form.errors.values()))))
        return response
    name = form.cleaned_data["name"]
    try:
        query = view_lists.to_query(params)
    except ViewError as error:
        messages.error(request, str(error))
        return response
    try:
        view_lists.check(request, model_admin, query)
    except ViewError as error:
        messages.error(request, str(error))
        # The list would refuse the URL without a message.
        return redirect(model_admin.list_url)
    saved_views.save(
        int(request.user.pk or 0),
        model_admin.list_label,
        name,
        query,
        is_shared=form.cleaned_data["is_shared"],
    )
    messages.success(request, _("Saved as “%(name)s”.") % {"name": name})
    return response


@require_safe
def links(request: HttpRequest) -> HttpResponse:
    """Answer with the views that stand above a list, each with its count."""
    model_admin = _list_with_label(request, request.GET.get("list", ""))
    view_links = view_lists.links(request, model_admin, request.GET.get("shown", ""))
    looks = view_lists.look(request, [link.view for link in view_links])
    context = {"label": model_admin.list_label, "links": view_links, "looks": looks}
    return TemplateResponse(request, "admin/workers/saved_view/links.html", context)


def _list_with_label(request: HttpRequest, label: str) -> ViewListAdmin:
    model_admin = view_lists.lists().get(label)
    if model_admin is None:
        raise Http404
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    return model_admin


class ViewForm(forms.ModelForm):
    class Meta:
        model = SavedView
        fields = ("name", "is_shared")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            rules.refuse_personal(name)
        except ViewError as error:
            raise forms.ValidationError(str(error)) from error
        others = SavedView.objects.exclude(pk=self.instance.pk).filter(
            owner=self.instance.owner_id, of_list=self.instance.of_list, name=name
        )
        if others.exists():
            raise forms.ValidationError(_("Another view of this list has that name."))
        return name


def _opens(row: Any) -> SafeString:
    if row.look.problem:
        return format_html('<span class="sas-fault">{}</span>', row.look.problem)
    title = capfirst(row.model_admin.opts.verbose_name_plural)
    text = f"{title}: {row.look.count}" if row.look.count else title
    return format_html('<a href="{}?{}">{}</a>', row.model_admin.list_url, row.query, text)


def _listed(row: SavedView) -> str:
    model_admin = view_lists.lists().get(row.of_list)
    if model_admin is None:
        return _("%(list)s, which is gone") % {"list": row.of_list}
    return str(capfirst(model_admin.opts.verbose_name_plural))


def _narrowed_by(row: SavedView) -> SafeString:
    return badges.message(", ".join(f"{name}: {part}" for name, part in rules.parts_of(row.query)))


def _shared_by(row: SavedView) -> str:
    return (_("%(owner)s, shared") if row.is_shared else "%(owner)s") % {"owner": row.owner}


@admin.register(SavedView)
class SavedViewAdmin(AskableListAdmin):
    """A user's own views, and those that others share."""

    form = ViewForm
    change_list_template = "admin/workers/saved_view/list.html"
    change_form_template = "admin/workers/change_page.html"
    list_display = ("name", "opens", "narrowed_by", "shared_by", "since")
    list_select_related = ("owner",)
    # The rows of each view are counted.
    list_per_page = 20
    list_max_show_all = 0
    show_full_result_count = False
    sortable_by = ()
    actions = None
    fields = ("name", "is_shared", "listed", "narrowed_by", "shared_by", "since")
    readonly_fields = ("listed", "narrowed_by", "shared_by", "since")

    class Media(LiveMedia):
        pass

    def views(self) -> list[View]:
        return [("save", "save/", save), ("links", "links/", links), *super().views()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SavedView]:
        return view_lists.visible(request)

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        looks, list_admins = view_lists.look(request, rows), view_lists.lists()
        for row in rows:
            row.look, row.model_admin = looks[row.pk], list_admins.get(row.of_list)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = capfirst(self.opts.verbose_name_plural)
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().change_view(request, *args, **kwargs)
        except StateError:
            # The name was taken after the form checked it: this time the check finds it.
            return super().change_view(request, *args, **kwargs)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A user who may see a list has views of it; private views of others are not among the rows.
        return any(
            model_admin.has_view_permission(request) for model_admin in view_lists.lists().values()
        )

    def has_add_permission(self, request: HttpRequest) -> bool:
        # Views are added on the lists.
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is not None and _may(request, obj, CHANGE)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is not None and _may(request, obj, DELETE)

    def save_model(self, request: HttpRequest, obj: SavedView, form: Any, change: bool) -> None:
        saved_views.change(obj.pk, obj.name, is_shared=obj.is_shared)

    def delete_model(self, request: HttpRequest, obj: SavedView) -> None:
        saved_views.delete(obj.pk)

    opens = column(lazy("opens"), _opens)
    listed = column(lazy("list"), _listed)
    narrowed_by = column(lazy("narrowed by"), _narrowed_by)
    shared_by = column(lazy("owner"), _shared_by)
    since = column(lazy("saved"), lambda row: badges.instant(row.created_at))


def _may(request: HttpRequest, view: SavedView, permission: str) -> bool:
    """Return whether a view is the user's own, or the user may do this to shared ones."""
    # Private views of others are not among the rows.
    return view.owner_id == request.user.pk or bool(request.user.has_perm(permission))
