"""What visitors type, checked: plain text of lengths that the tables can hold."""

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from orders.basket import MAX_QUANTITY, BasketLine

EMAIL_MISSING = _("Please enter your e-mail address.")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def refuse_control_characters(text: str, *, keep: str = "") -> None:
    """Raise ``ValidationError`` for NUL and other control characters not in ``keep``.

    PostgreSQL cannot store NUL, and the rest has no business in a mail or on a label.
    """
    if any(match.group() not in keep for match in CONTROL_CHARACTERS.finditer(text)):
        raise ValidationError(
            _("This contains control characters. Please type it again."),
            code="control_characters",
        )


class LineField(forms.CharField):
    """One line of plain text."""

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value) or "")
        refuse_control_characters(text)
        return text


class LinesField(forms.CharField):
    """Plain text of several lines."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value) or "").replace("\r\n", "\n")
        refuse_control_characters(text, keep="\n")
        return text


class PlainEmailField(forms.EmailField):
    """An e-mail address."""

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value) or "")
        refuse_control_characters(text)
        return text


class AddForm(forms.Form):
    """One product to put into the basket."""

    sku = LineField(max_length=40, widget=forms.HiddenInput)
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
    """The quantities of all lines of a basket."""

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
    """Who orders, and the basket's key, by which it is ordered once however often it is sent."""

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
        error_messages={"required": _("Please enter where it shall go.")},
        widget=forms.Textarea(attrs={"autocomplete": "street-address", "rows": 4}),
    )
    submission_key = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, *, total: Decimal, order_key: str) -> None:
        super().__init__(data, label_suffix="", initial={"submission_key": order_key})
        self._order_key = order_key
        #: On the page the buyer agrees to it: prices may change before the form comes back.
        self.total = str(total)

    @property
    def key(self) -> str | None:
        """The submission key as it came, or None where it is no key."""
        try:
            key = self.fields["submission_key"].clean(self.data.get("submission_key"))
        except ValidationError:
            return None
        return str(key)

    def clean(self) -> dict[str, Any]:
        if "submission_key" in self.errors:
            sent = {name: self.data[name] for name in self.data}
            self.data = sent | {"submission_key": self._order_key}
            raise ValidationError(
                _("This form was damaged on its way. Please check it and send it again."),
                code="no_key",
            )
        if self.data.get("total_seen", self.total) != self.total:
            raise ValidationError(
                _("Your basket or a price has changed. Please check the new total."),
                code="total_changed",
            )
        return self.cleaned_data


class MyOrdersForm(forms.Form):
    """Whose orders to look up."""

    email = PlainEmailField(
        label=_("E-mail"),
        max_length=254,
        error_messages={"required": EMAIL_MISSING},
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, label_suffix="")
