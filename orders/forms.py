"""The shop's forms: plain text, in lengths that the tables can hold."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from orders import plain_text
from orders.basket import MAX_QUANTITY, BasketLine
from orders.plain_text import CONTROL_CHARACTERS

EMAIL_MISSING = _("Please enter your e-mail address.")


def refuse_control_characters(text: str, *, keep: str = "") -> None:
    """Raise ``ValidationError`` for NUL and other control characters not in ``keep``.

    PostgreSQL cannot store NUL, and the rest has no business in a mail or on a label.
    """
    if any(match.group() not in keep for match in CONTROL_CHARACTERS.finditer(text)):
        raise ValidationError(
            _("This contains control characters. Please type it again."),
            code="control_characters",
        )


class PlainField(forms.CharField):
    """Plain text in NFC; a text without visible characters counts as empty.

    Has no ``maxlength``: browsers would cut a text silently instead of reporting it as too long.
    """

    #: Control characters that are allowed.
    keep = ""
    is_composed = True

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value) or "").replace("\r\n", "\n")
        text = plain_text.composed(text) if self.is_composed else text
        refuse_control_characters(text, keep=self.keep)
        return text if plain_text.is_visible(text) else ""

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {
            name: value
            for name, value in super().widget_attrs(widget).items()
            if name != "maxlength"
        }


class LineField(PlainField):
    """One line of plain text."""


class LinesField(PlainField):
    """Plain text of several lines."""

    widget = forms.Textarea
    keep = "\n"


class PlainEmailField(PlainField):
    """An e-mail address."""

    widget = forms.EmailInput
    # NFC would turn the kelvin sign into a K, and the address into somebody else's.
    is_composed = False

    def clean(self, value: Any) -> str:
        address = str(super().clean(value))
        return plain_text.email(address) if address else address


class AddForm(forms.Form):
    """A product to add to the basket."""

    #: Exactly as the product has it.
    sku = forms.CharField(max_length=40, widget=forms.HiddenInput)
    quantity = forms.IntegerField(
        label=_("Quantity"),
        min_value=1,
        max_value=MAX_QUANTITY,
        initial=1,
        required=False,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )

    def clean_quantity(self) -> int:
        quantity: int | None = self.cleaned_data["quantity"]
        return 1 if quantity is None else quantity


class BasketForm(forms.Form):
    """The quantities of a basket's lines."""

    def __init__(self, lines: list[BasketLine], data: QueryDict | None = None) -> None:
        super().__init__(data, prefix="quantity", label_suffix="")
        reason = _("Enter a number from 1 to %(limit)d, or press Remove.") % {"limit": MAX_QUANTITY}
        for line in lines:
            self.fields[line.product.sku] = forms.IntegerField(
                label=_("Quantity of %(product)s") % {"product": line.product.name},
                min_value=1,
                max_value=MAX_QUANTITY,
                initial=line.quantity,
                widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
                error_messages=dict.fromkeys(
                    ("required", "invalid", "min_value", "max_value"), reason
                ),
            )


class CheckoutForm(forms.Form):
    """The customer; the basket's key, so that repeated submissions make one order; and the
    agreement of the buyer with what the page showed.
    """

    name = LineField(
        label=_("Your name"),
        max_length=120,
        error_messages={"required": _("Please enter your name.")},
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    email = PlainEmailField(
        label=_("E-mail"),
        max_length=254,
        help_text=_("We send the confirmation here."),
        error_messages={"required": EMAIL_MISSING},
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    address = LinesField(
        label=_("Delivery address"),
        max_length=500,
        error_messages={"required": _("Please enter the delivery address.")},
        widget=forms.Textarea(attrs={"autocomplete": "street-address", "rows": 4}),
    )
    submission_key = forms.UUIDField(widget=forms.HiddenInput)
    #: Compared by ``place_order``: prices may change before the form comes back.
    agreement = forms.RegexField("^[0-9a-f]{64}$", widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, *, offer: str, order_key: str) -> None:
        self._on_page = {"submission_key": order_key, "agreement": offer}
        super().__init__(data, label_suffix="", initial=self._on_page)

    @property
    def key(self) -> str | None:
        """The submitted key, or None if it is invalid."""
        try:
            key = self.fields["submission_key"].clean(self.data.get("submission_key"))
        except ValidationError:
            return None
        return str(key)

    def clean(self) -> dict[str, Any]:
        damaged = {name: value for name, value in self._on_page.items() if name in self.errors}
        if damaged:
            self._show_again(damaged)
            raise ValidationError(
                _("This form was damaged on its way. Please check it and send it again."),
                code="damaged",
            )
        return self.cleaned_data

    def offer_again(self, offer: str, reason: str) -> None:
        """Show why nothing was ordered, and ask the buyer to agree to the current offer."""
        self._show_again({"agreement": offer})
        self.add_error(None, reason)

    def _show_again(self, hidden: dict[str, str]) -> None:
        self.data = {name: self.data[name] for name in self.data} | hidden


class ReturnForm(forms.Form):
    """Why an order is sent back, if the buyer says so."""

    reason = LinesField(
        label=_("Why do you send it back?"),
        help_text=_("You need not say. It helps us to do better."),
        max_length=500,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")


class MyOrdersForm(forms.Form):
    """The address whose orders to look up."""

    email = PlainEmailField(
        label=_("E-mail"),
        max_length=254,
        error_messages={"required": EMAIL_MISSING},
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")
