"""The products that the shop sells."""

from django.db import models
from django.db.models import Q


class Product(models.Model):
    """A product, and how many of it can still be ordered."""

    sku = models.CharField("SKU", max_length=40, unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    stock = models.PositiveIntegerField(default=0)
    #: Name of a picture below ``static/orders/products/``.
    picture = models.CharField(max_length=120, blank=True)
    is_listed = models.BooleanField(default=True)

    class Meta:
        ordering = ["sku"]
        constraints = [
            models.CheckConstraint(name="product_price_positive", condition=Q(price__gt=0)),
        ]

    def __str__(self) -> str:
        return self.name
