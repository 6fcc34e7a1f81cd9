from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "orders"
    verbose_name = "Shop"

    def ready(self) -> None:
        # Registers what incidents say of orders; it needs the models.
        from orders import incidents  # noqa: F401
