from django.apps import AppConfig


class BoxConfig(AppConfig):
    name = "tests.acceptance.box"
    label = "box"
