"""Orders and their lines, stock reservations and returns."""

import secrets
import uuid
from decimal import Decimal

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from orders.models.product import Product


def new_secret() -> str:
    """Return the unguessable part of an order's link: 128 random bits."""
    return secrets.token_urlsafe(16)


#: Columns that are not read to find the order of a key: the customer, and the secret.
PRIVATE = ("secret", "customer_name", "customer_email", "customer_address")


class Order(models.Model):
    """A customer's order.  The number is for people, ``public_id`` for programs."""

    class Source(models.TextChoices):
        SHOP = "shop", "Shop"
        API = "api", "HTTP API"
        QUEUE = "queue", "Queue"
        DEMO = "demo", "Demo"

    number = models.BigAutoField(primary_key=True)
    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    #: Grants access to the order's page: /orders/<secret>/.
    secret = models.CharField(max_length=40, default=new_secret, unique=True, editable=False)
    process = models.OneToOneField(
        "workers.Process", on_delete=models.PROTECT, related_name="+", editable=False
    )
    source = models.CharField(max_length=10, choices=Source.choices)
    submitter = models.CharField(max_length=100, blank=True)
    #: SHA-256 of the submitted body: the same key with another body is refused.
    body_hash = models.CharField(max_length=64)
    reference = models.CharField(max_length=100, blank=True)
    customer_name = models.CharField(max_length=120)
    customer_email = models.EmailField()
    customer_address = models.TextField(max_length=500)
    total = models.DecimalField(max_digits=12, decimal_places=2)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        permissions = [
            ("resubmit_order", _("Can resubmit an order in error")),
            ("decide_review", _("Can accept or decline a large order")),
            ("handle_return", _("Can receive and inspect what comes back")),
        ]
        constraints = [
            models.CheckConstraint(name="order_total_positive", condition=Q(total__gt=0)),
        ]
        # The migration adds further indexes for the operators' search, on PostgreSQL only.
        indexes = [
            models.Index(name="order_total_idx", fields=["total"]),
            # For equality and for prefixes.
            models.Index(
                name="order_reference_idx",
                fields=["reference"],
                opclasses=["varchar_pattern_ops"],
            ),
        ]

    def __str__(self) -> str:
        return f"Order {self.number}"

    def get_absolute_url(self) -> str:
        # By the shop's own addresses: the site's would load the admin into workers that mail it.
        return reverse("order", "orders.urls", [self.secret])

    @property
    def submission_key(self) -> str:
        """The submitter's own key, which the process holds together with the submitter."""
        return (self.process.submission_key or "").removesuffix(f" {self.submitter}")

    @property
    def link(self) -> str:
        """The address for mails: not from a request, whose Host header can be forged."""
        return settings.SHOP_URL.rstrip("/") + self.get_absolute_url()


class OrderLine(models.Model):
    """A product of an order, at the price when it was placed."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+")
    sku = models.CharField("SKU", max_length=40)
    name = models.CharField(max_length=120)
    quantity = models.PositiveIntegerField()
    unit_price = models.DecimalField(max_digits=10, decimal_places=2)

    class Meta:
        constraints = [
            models.CheckConstraint(name="line_quantity_positive", condition=Q(quantity__gt=0)),
            models.UniqueConstraint(name="line_product_once", fields=["order", "product"]),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.name}"

    @property
    def amount(self) -> Decimal:
        return self.unit_price * self.quantity


class Reservation(models.Model):
    """Stock taken for an order line by ``reserve_stock``; its key makes a repeat harmless."""

    key = models.CharField(max_length=120, unique=True)
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="reservations")
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+")
    quantity = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="reservation_released_after_created",
                condition=Q(released_at__isnull=True) | Q(released_at__gte=F("created_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} of {self.product_id} for order {self.order_id}"


class Return(models.Model):
    """An order that is sent back: all returns of an order but the last refunded nothing."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="returns")
    process = models.OneToOneField(
        "workers.Process", on_delete=models.PROTECT, related_name="+", editable=False
    )

    class Meta:
        # Returns are shown on the pages of their orders, with the orders' permission.
        default_permissions = ()

    def __str__(self) -> str:
        return f"Return of order {self.order_id}"
