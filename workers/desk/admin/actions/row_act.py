"""An act on a row of a list: its page or only its button, and the POST that does it once."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.desk.admin.actions.page import write_log
from workers.desk.admin.list_filter import row_id
from workers.desk.admin.lists import own_page
from workers.desk.admin.wording import Text
from workers.exceptions import StateError


class CommentForm(forms.Form):
    """An operator's comment on an act; kept in the journal."""

    comment = forms.CharField(
        label=lazy("Comment"),
        required=False,
        max_length=500,
        help_text=lazy("Optional. Kept in the journal with your name."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class RowIdsField(forms.CharField):
    """The ids of the rows that a page listed, from a hidden field."""

    def __init__(self, most: int, wrong: Any) -> None:
        super().__init__(widget=forms.HiddenInput, max_length=most * 20)
        self.most, self.wrong = most, wrong

    def clean(self, value: Any) -> list[int]:
        ids = [row_id(part) for part in super().clean(value).split(",")]
        if len(ids) > self.most or None in ids:
            raise forms.ValidationError(self.wrong)
        return sorted({pk for pk in ids if pk is not None})


class RowAct:
    """One act of an operator on a row; a ``Verb`` is one on a process, also at a terminal."""

    #: In its URL, and in the name of that.
    name: str
    #: Its URL pattern below the list, if that is not ``<int:pk>/<name>/``.
    address: str = ""
    model: ClassVar[type[Model]]
    permission: str
    #: In the page's title; ``button`` carries it out, and ``sentence`` says what it means.
    label: Text
    button: Text
    sentence: Text
    #: On the link from its page to where it came from.
    back: Text = ""
    form: type[forms.BaseForm] = forms.Form
    is_grave: bool = False
    #: Whether it leads to the page of its row, and not to the list.
    leads_to_row: ClassVar[bool] = False
    #: False for a button that acts at once, and reports the result on the page it is on.
    has_page: ClassVar[bool] = True
    template: ClassVar[str] = "admin/workers/ask.html"

    def address_of(self, *args: Any) -> str:
        """Return its URL for a row."""
        return self._reverse(self.name, *args)

    def _reverse(self, name: str, *args: Any) -> str:
        meta = self.model._meta
        return reverse(f"admin:{meta.app_label}_{meta.model_name}_{name}", args=args)

    def find(self, request: HttpRequest, **address: Any) -> Any:
        """Return the row at a URL; raise ``Http404``."""
        return get_object_or_404(self.model, **address)

    def may(self, request: HttpRequest, row: Any = None) -> bool:
        """Return whether the user may do it; called without the row first, then with it."""
        return bool(request.user.has_perm(self.permission))

    def why_not(self, row: Any) -> str:
        """Return why the act is not possible now; empty if it is."""
        return ""

    def form_of(
        self, row: Any, data: Mapping[str, Any] | None = None, initial: Any = None
    ) -> forms.BaseForm:
        """Return the form for a row: with the data sent, or with initial values."""
        return self.form(data, initial=initial)

    def is_ready(self, form: Any) -> bool:
        """Return whether a form that was sent is valid, and confirmed if that is asked."""
        return bool(form.is_valid())

    def refusal_of(self, row: Any, form: Any) -> str:
        """Return why what was sent is refused, whatever it says; empty if it is not."""
        return self.why_not(row)

    def initial(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return initial values of the form, also after a refusal."""
        return {}

    def perform(self, request: HttpRequest, row: Any, data: dict[str, Any]) -> Any:
        """Carry it out; return the message to the operator, empty if somebody was quicker.

        Raises ``StateError``, and changes nothing, if it is not possible.
        """
        raise NotImplementedError

    def url(self, request: HttpRequest, row: Any) -> str:
        """Return where to redirect afterwards: a URL, or the name of one."""
        if self.leads_to_row:
            return self._reverse("change", row.pk)
        # A button's list stays as it was filtered.
        query = "" if self.has_page else request.GET.urlencode()
        return self._reverse("changelist") + (f"?{query}" if query else "")

    def logged(self, row: Any) -> Any:
        """Return the row whose history in Django's log has the act."""
        return row

    def title(self, row: Any) -> str:
        return str(self.label)

    def context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return additional context of the page."""
        return {}

    def beside(self, row: Any, form: Any) -> dict[str, Any]:
        """Return additional context of a page with a form."""
        return {}

    def done(
        self, request: HttpRequest, row: Any, result: Any, data: dict[str, Any]
    ) -> HttpResponse:
        """Log the act, report it, and redirect."""
        if result:
            write_log(
                request, self.logged(row), result, data.get("reason") or data.get("comment", "")
            )
            messages.success(request, result)
        else:
            messages.warning(request, _("Somebody was quicker; nothing was changed."))
        return redirect(self.url(request, row))

    def view(self) -> Callable[..., HttpResponse]:
        """Return the view at the act's URL."""

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
        form: Any = self.form_of(row, request.POST)
        is_ready = self.is_ready(form)
        # Report a row that has moved before the errors of its form.
        if refusal := self.refusal_of(row, form):
            return self._page(request, row, form, status=409, refusal=refusal)
        if not is_ready:
            return self._page(request, row, form, status=400 if form.errors else 200)
        try:
            result = self.perform(request, row, form.cleaned_data)
        except StateError as error:
            # The page shows the row as it is now.
            row = self.find(request, **address)
            return self._page(request, row, form, status=409, refusal=str(error))
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
                    request, " ".join(str(e) for errors in form.errors.values() for e in errors)
                )
            return redirect(self.url(request, row))
        why_not = self.why_not(row)
        if why_not:
            form = None
        elif form is None or refusal:
            values = {} if form is None else {name: form[name].value() for name in form.fields}
            form = self.form_of(row, initial={**values, **self.initial(request, row)})
        context = {
            "act": self,
            "form": form,
            "why_not": why_not,
            "refusal": refusal or why_not,
            "is_refused": bool(refusal),
            "title": self.title(row),
            "back_url": self.url(request, row),
            "back": self.back,
            **self.context(request, row),
            **({} if form is None else self.beside(row, form)),
        }
        return own_page(request, self.template, self.model, context, status)
