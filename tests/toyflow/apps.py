from django.apps import AppConfig


class ToyflowConfig(AppConfig):
    name = "tests.toyflow"
    label = "toyflow"
