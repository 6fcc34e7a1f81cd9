from django.apps import AppConfig


class ShapeConfig(AppConfig):
    name = "tests.shape.app"
    label = "shape"
