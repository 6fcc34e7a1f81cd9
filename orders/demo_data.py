"""Demonstration data: twelve products and two staff users with well-known passwords.

Seeding again adds what is missing and changes nothing that exists.
"""

from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import QuerySet

from orders.models import Product

STOCK = 1_000_000
APPS = ("orders", "workers", "desk")
RECORDS = (
    *("bulkitem", "bulkjob", "delivery", "incident", "note", "journal", "lease"),
    *("orderline", "reservation"),
)

#: (name, price, picture, description), in the order of the SKUs.
PRODUCTS = (
    (
        "Stoneware mug",
        "18.50",
        "stoneware-mug.svg",
        "Thrown by hand and dipped once in green glaze. Holds a proper amount of tea, "
        "and the handle has room for four fingers.",
    ),
    (
        "Enamel kettle",
        "54.00",
        "enamel-kettle.svg",
        "A red kettle for stove and camp fire. Two litres, a spout that does not drip, "
        "and a grip of beech that stays cool.",
    ),
    (
        "Beeswax candle",
        "12.00",
        "beeswax-candle.svg",
        "Burns for forty hours and smells faintly of summer. The oak holder catches what drips "
        "and stays when the candle is gone.",
    ),
    (
        "Linen tea towel",
        "14.50",
        "linen-tea-towel.svg",
        "Half a metre of heavy linen that dries glasses without lint and gets softer "
        "with every wash. The flower is woven in, not printed.",
    ),
    (
        "Wool blanket",
        "89.00",
        "wool-blanket.svg",
        "Lambswool from one mill, woven in a wide check and fringed by hand. "
        "Large enough for two and one cat.",
    ),
    (
        "Oak board",
        "36.00",
        "oak-board.svg",
        "One piece of oak, oiled twice. For bread, lemons and the end of an argument "
        "about who does the washing-up.",
    ),
    (
        "Cast-iron pan",
        "62.00",
        "cast-iron-pan.svg",
        "Seasoned and ready for the first egg. Looked after, it outlives its owner; "
        "neglected, it forgives.",
    ),
    (
        "Storm lantern",
        "48.00",
        "storm-lantern.svg",
        "Lights a garden table for twelve hours on one filling and minds neither wind nor rain. "
        "The lantern of our sign.",
    ),
    (
        "Pocket notebook",
        "9.50",
        "pocket-notebook.svg",
        "A hundred and twenty pages that lie flat, a ribbon, a band, and a pencil that fits. "
        "Small enough to be there when needed.",
    ),
    (
        "Terracotta planter",
        "22.00",
        "terracotta-planter.svg",
        "Breathing clay with a scratched zigzag, fired hard enough for winter outdoors. "
        "The plant in the picture is yours to find.",
    ),
    (
        "Wildflower honey",
        "11.00",
        "wildflower-honey.svg",
        "From the meadow behind the workshop, stirred cold and filled once a year. "
        "Three hundred and fifty grams.",
    ),
    (
        "Willow basket",
        "44.00",
        "willow-basket.svg",
        "Peeled willow on a strong rim. For the market, for firewood, "
        "for everything that lies about in the evening.",
    ),
)


@dataclass(frozen=True, slots=True)
class SeedResult:
    """How many rows a seeding added."""

    products: int
    users: int


@transaction.atomic
def seed(*, with_users: bool) -> SeedResult:
    """Add the missing products and, if wanted, the missing users with their groups."""
    return SeedResult(products=_seed_products(), users=_seed_users() if with_users else 0)


def _seed_products() -> int:
    added = 0
    for number, (name, price, picture, description) in enumerate(PRODUCTS, start=1):
        _, is_new = Product.objects.get_or_create(
            sku=f"SKU-{number:03}",
            defaults={
                "name": name,
                "price": Decimal(price),
                "picture": picture,
                "description": description,
                "stock": STOCK,
            },
        )
        added += is_new
    return added


def _seed_users() -> int:
    permissions = Permission.objects.filter(content_type__app_label__in=APPS)
    viewing = permissions.filter(codename__startswith="view_")
    # Only the system adds and deletes rows, except routes, and records never change; operators
    # may do everything else, including actions that later versions add, but for handing out and
    # erasing all that is kept of a person: whoever answers such requests is given that.
    operating = permissions.exclude(codename__regex=r"^(add|delete)_(?!route$)").exclude(
        codename__in=["erase_person", *(f"change_{model}" for model in RECORDS)]
    )
    return sum(
        (
            _seed_user("operator", _seed_group("Operators", operating)),
            _seed_user("viewer", _seed_group("Viewers", viewing)),
        )
    )


def _seed_group(name: str, permissions: QuerySet[Permission]) -> Group:
    group, _ = Group.objects.get_or_create(name=name)
    # Also where the group exists: a newer version may have brought new permissions.
    group.permissions.add(*permissions)
    return group


def _seed_user(name: str, group: Group) -> bool:
    """Add a staff user whose password is the name; leave an existing one unchanged."""
    user, is_new = get_user_model().objects.get_or_create(
        username=name, defaults={"is_staff": True}
    )
    if is_new:
        user.set_password(name)
        user.save(update_fields=["password"])
        user.groups.add(group)
    return is_new
