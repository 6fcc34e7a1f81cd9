from django.apps import AppConfig


class SasprojectConfig(AppConfig):
    name = "sasproject"

    def ready(self) -> None:
        from sasproject import checks  # noqa: F401  (registers the checks)
