"""The catalogue, and the page of a product."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from orders.basket import Basket
from orders.forms import AddForm
from orders.models import Product
from orders.views.pages import render_page


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    basket = Basket(request.session)
    products = [
        (product, basket.quantity(product.sku))
        for product in Product.objects.filter(is_listed=True)
    ]
    return render_page(request, "orders/catalogue.html", {"products": products})


@require_safe
def product(request: HttpRequest, sku: str) -> HttpResponse:
    row = get_object_or_404(Product, sku=sku, is_listed=True)
    context = {
        "product": row,
        "form": AddForm(initial={"sku": row.sku}),
        "in_basket": Basket(request.session).quantity(row.sku),
    }
    return render_page(request, "orders/product.html", context)
