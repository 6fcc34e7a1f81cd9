from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "orders"
    verbose_name = "Shop"

    def ready(self) -> None:
        # They register alert kinds and metrics, and need the models.
        from orders import incidents, metrics  # noqa: F401
