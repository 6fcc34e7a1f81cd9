"""The hand-written chain.  BENCH_KEEP=1 keeps its database connection between tasks."""

from collections.abc import Callable

from benchmarks import child
from benchmarks.exceptions import Wrong
from benchmarks.peers.celery_running import CelerySystem

child.ensure_folder()


class Naive(CelerySystem):
    def prepare(self) -> None:
        from django.db import connection

        from benchmarks.peers.naive import celery_app  # noqa: F401  (sets Django up)
        from benchmarks.peers.naive.models import Order

        with connection.schema_editor() as editor:
            editor.create_model(Order)

    def submitter(self) -> Callable[[int], None]:
        from benchmarks.peers.naive.celery_app import submit

        return submit

    def check(self, orders: int) -> None:
        from django.db import connection

        from benchmarks.peers.naive.models import Order

        super().check(orders)
        done = Order.objects.filter(status="completed", step=4).count()
        connection.close()
        if done != orders:
            raise Wrong(f"{done} of {orders} orders are completed")


SYSTEM = Naive("benchmarks.peers.naive.celery_app")
