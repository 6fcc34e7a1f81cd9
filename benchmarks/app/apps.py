from django.apps import AppConfig


class BenchConfig(AppConfig):
    name = "benchmarks.app"
    label = "bench"
