"""The company's own tests, with Celery's fixtures; they know nothing of the engine."""

import pytest
from celery import Celery
from django.db import connection


@pytest.fixture(scope="session")
def celery_worker_parameters():
    # A worker without heartbeats looks up every 10 s, which is also what these waits are at first.
    return {"ping_task_timeout": 60, "shutdown_timeout": 60}


def test_without_a_database(celery_app, celery_worker):
    @celery_app.task
    def double(number):
        return 2 * number

    celery_worker.reload()
    assert double.delay(21).get(timeout=60) == 42


@pytest.mark.django_db(transaction=True)
def test_with_a_database(celery_app, celery_worker):
    from people.models import Person

    # Celery's solo pool has cut off the connection of the thread that it was made in.
    connection.close()
    assert Person.objects.count() == 0


def test_a_second_app_is_untouched():
    second = Celery("second", broker="memory://", set_as_current=False)
    assert second.conf.worker_prefetch_multiplier == 4
    assert "sas.scheduler" not in second.amqp.queues
