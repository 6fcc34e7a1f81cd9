from django.apps import AppConfig


class BenchConfig(AppConfig):
    name = "benchmarks.app"
    label = "bench"

    def ready(self) -> None:
        from benchmarks.app import without

        without.leave_out()
