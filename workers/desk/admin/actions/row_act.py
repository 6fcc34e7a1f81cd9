"""An act on a row of a list: its page, or its button alone, and the POST that does it once."""

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from workers.desk.admin.actions.page import write_log
from workers.desk.admin.lists import LiveMedia
from workers.desk.admin.wording import Text
from workers.exceptions import StateError


class RowAct:
    """One thing that an operator does to a row, as a ``Verb`` is done to a process."""

    model: ClassVar[type[Model]]
    permission: str
    #: In the page's title; ``button`` carries it out, and ``sentence`` says what it means.
    label: Text
    button: Text
    sentence: Text
    form: type[forms.BaseForm]
    is_grave: bool = False
    #: False: a button that acts at once, and tells what came of it where it was pressed.
    has_page: ClassVar[bool] = True
    template: ClassVar[str] = "admin/workers/ask.html"

    def find(self, request: HttpRequest, **address: Any) -> Any:
        """Return the row at an address; raise ``Http404``."""
        return get_object_or_404(self.model, **address)

    def may(self, request: HttpRequest, row: Any = None) -> bool:
        """Say whether the user may do it; asked before the row is read, and with it."""
        return bool(request.user.has_perm(self.permission))

    def why_not(self, row: Any) -> str:
        """Return why it is not possible just now; empty: it is."""
        return ""

    def initial(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the form begins with, also after a refusal."""
        return {}

    def perform(self, request: HttpRequest, row: Any, given: dict[str, Any]) -> Any:
        """Carry it out; return what to tell the operator, empty where somebody was quicker.

        Raises ``StateError``, and changes nothing, where it is not possible.
        """
        raise NotImplementedError

    def url(self, request: HttpRequest, row: Any) -> str:
        """Return where it leads afterwards: an address, or the name of one."""
        raise NotImplementedError

    def context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the page shows beside: ``title``, ``back`` and ``back_url`` at least."""
        raise NotImplementedError

    def done(
        self, request: HttpRequest, row: Any, result: Any, given: dict[str, Any]
    ) -> HttpResponse:
        """Log an act that was carried out, tell of it, and lead on."""
        if result:
            write_log(request, row, result, given.get("reason") or given.get("comment", ""))
            messages.success(request, result)
        else:
            messages.warning(request, _("Somebody was quicker; nothing was changed."))
        return redirect(self.url(request, row))

    def view(self) -> Callable[..., HttpResponse]:
        """Return the view at the act's address."""

        @require_http_methods(["GET", "HEAD", "POST"] if self.has_page else ["POST"])
        def view(request: HttpRequest, **address: Any) -> HttpResponse:
            return self._answer(request, address)

        view.act = self  # type: ignore[attr-defined]
        return view

    def _answer(self, request: HttpRequest, address: dict[str, Any]) -> HttpResponse:
        if not self.may(request):
            raise PermissionDenied
        row = self.find(request, **address)
        if not self.may(request, row):
            raise PermissionDenied
        if request.method != "POST":
            return self._page(request, row)
        form = self.form(request.POST)
        if not form.is_valid():
            return self._page(request, row, form, status=400)
        try:
            if why_not := self.why_not(row):
                raise StateError(why_not)
            result = self.perform(request, row, form.cleaned_data)
        except StateError as refusal:
            # The page shows the row as it is now.
            row = self.find(request, **address)
            return self._page(request, row, form, status=409, refusal=str(refusal))
        return self.done(request, row, result, form.cleaned_data)

    def _page(
        self,
        request: HttpRequest,
        row: Any,
        form: forms.BaseForm | None = None,
        *,
        status: int = 200,
        refusal: str = "",
    ) -> HttpResponse:
        if not self.has_page:
            if refusal:
                messages.warning(request, refusal)
            elif form is not None:
                messages.error(
                    request, " ".join(str(e) for one in form.errors.values() for e in one)
                )
            return redirect(self.url(request, row))
        why_not = self.why_not(row)
        if form is None or refusal:
            given = {} if form is None else {name: form[name].value() for name in form.fields}
            form = self.form(initial={**given, **self.initial(request, row)})
        context = {
            **admin.site.each_context(request),
            "act": self,
            "form": None if why_not else form,
            "refusal": refusal or why_not,
            "is_refused": bool(refusal),
            "media": forms.Media(LiveMedia),
            "opts": self.model._meta,
            **self.context(request, row),
        }
        return TemplateResponse(request, self.template, context, status=status)
