"""The checkout: a basket becomes one order, even if it is submitted from several pages."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders import log_fields
from orders.agreement import OfferChanged
from orders.basket import Basket, BasketLine, offer, total
from orders.forms import CheckoutForm
from orders.models import Order
from orders.submission import Customer, KeyReused, Line, SubmissionRefused, first_order, place_order
from orders.views.pages import render_page, submitter


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def checkout(request: HttpRequest) -> HttpResponse:
    basket = Basket(request.session)
    lines = basket.lines()
    if request.method != "POST":
        if not lines:
            return redirect("orders:basket")
        return _render(request, lines, CheckoutForm(offer=offer(lines), order_key=basket.order_key))
    form = CheckoutForm(request.POST, offer=offer(lines), order_key=basket.order_key)
    # The basket may be empty by now.
    first = first_order(submitter(request.session), form.key) if form.key else None
    if first is not None:
        return _already_placed(request, basket, first)
    if not lines:
        messages.error(request, _("Your basket is empty: nothing was ordered."))
        return redirect("orders:basket")
    return _place(request, basket, lines, form)


def _place(
    request: HttpRequest, basket: Basket, lines: list[BasketLine], form: CheckoutForm
) -> HttpResponse:
    problems = {index: line.problem for index, line in enumerate(lines) if line.problem}
    if not form.is_valid() or problems:
        return _render(request, lines, form, problems, status=422)
    data = form.cleaned_data
    try:
        order, is_new = place_order(
            Customer(name=data["name"], email=data["email"], address=data["address"]),
            [Line(sku=line.product.sku, quantity=line.quantity) for line in lines],
            submission_key=str(data["submission_key"]),
            source=Order.Source.SHOP,
            submitter=submitter(request.session),
            agreed=data["agreement"],
        )
    except OfferChanged as changed:
        # Prices may have changed since the lines were read above.
        lines = basket.lines()
        form.offer_again(offer(lines), str(changed))
        return _render(request, lines, form, status=422)
    except KeyReused as reused:
        return _already_placed(request, basket, reused.order)
    except SubmissionRefused as refused:
        problems = _place_errors(form, refused.errors)
        return _render(request, lines, form, problems, status=422)
    if not is_new:
        return _already_placed(request, basket, order)
    log_fields.bind(order)
    basket.clear()
    return redirect(order)


def _place_errors(form: CheckoutForm, errors: dict[str, str]) -> dict[int, str]:
    """Add errors to their fields of the form; return the errors of lines by index."""
    lines: dict[int, str] = {}
    for field, reason in errors.items():
        match field.split("."):
            case ["lines", index, *_] if index.isdecimal():
                lines[int(index)] = reason
            case ["customer", name] if name in form.fields:
                form.add_error(name, reason)
            case _:
                form.add_error(None, reason)
    return lines


def _already_placed(request: HttpRequest, basket: Basket, order: Order) -> HttpResponse:
    log_fields.bind(order)
    # A concurrent request of another page may have saved the old basket in the session again.
    basket.ordered(order.submission_key)
    messages.info(request, _("You had sent this order already. Nothing was ordered twice."))
    return redirect(order)


def _render(
    request: HttpRequest,
    lines: list[BasketLine],
    form: CheckoutForm,
    problems: dict[int, str] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    # Create the submitter now, so that a form sent from this page finds its session again.
    submitter(request.session)
    context = {
        "form": form,
        "rows": [(line, (problems or {}).get(index)) for index, line in enumerate(lines)],
        "problems": problems,
        "total": total(lines),
    }
    return render_page(request, "orders/checkout.html", context, status=status)
