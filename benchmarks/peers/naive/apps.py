from django.apps import AppConfig


class NaiveConfig(AppConfig):
    name = "benchmarks.peers.naive"
    label = "naive"
