from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "orders"
    verbose_name = "Shop"

    def ready(self) -> None:
        # They register what incidents and figures say of orders; they need the models.
        from orders import incidents, metrics  # noqa: F401
