"""The basket's page, and adding and removing products."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from orders.basket import Basket, BasketFull, BasketLine, total
from orders.forms import AddForm, BasketForm
from orders.models import Product
from orders.views.pages import render_page


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def show(request: HttpRequest) -> HttpResponse:
    """Show the basket; a POST updates its quantities, all of them or none."""
    basket = Basket(request.session)
    lines = basket.lines()
    if request.method != "POST":
        return _render(request, lines, BasketForm(lines))
    form = BasketForm(lines, request.POST)
    if not form.is_valid():
        return _render(request, lines, form, status=422)
    basket.update(form.cleaned_data)
    return redirect("orders:checkout" if "checkout" in request.POST else "orders:basket")


@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Add a product to the basket; redirect to it, or return the changed part to htmx."""
    form = AddForm(request.POST)
    if "sku" in form.errors:
        raise Http404
    product = get_object_or_404(Product, sku=form.cleaned_data["sku"], is_listed=True)
    basket = Basket(request.session)
    problem = _add(basket, product, form)
    if request.headers.get("HX-Request") == "true":
        context = {"in_basket": basket.quantity(product.sku), "problem": problem}
        return render_page(request, "orders/_added.html", context)
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, _("%(product)s is in your basket.") % {"product": product})
    return redirect("orders:basket")


@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    Basket(request.session).remove(request.POST.get("sku", ""))
    return redirect("orders:basket")


def _add(basket: Basket, product: Product, form: AddForm) -> str:
    """Add the product; return the problem, empty if there is none."""
    if not form.is_valid():
        return str(form.errors["quantity"][0])
    if product.stock == 0:
        return _("This is sold out.")
    try:
        basket.add(product.sku, form.cleaned_data["quantity"])
    except BasketFull as full:
        return str(full)
    return ""


def _render(
    request: HttpRequest, lines: list[BasketLine], form: BasketForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "rows": [(line, form[line.product.sku]) for line in lines],
        "form": form,
        "total": total(lines),
    }
    return render_page(request, "orders/basket.html", context, status=status)
