"""The company's own tests with Celery's worker fixture, in which its own app works."""

from datetime import date

import pytest
from acme.celery import app
from acme.tasks import count_people, day_after


@pytest.fixture(scope="session")
def celery_includes():
    return ["celery.contrib.testing.tasks"]


@pytest.fixture(scope="session")
def celery_worker_parameters():
    # A worker without heartbeats looks up every 10 s, which is also what these waits are at first.
    return {"ping_task_timeout": 60, "shutdown_timeout": 60}


@pytest.fixture(params=["solo", "prefork"])
def celery_worker_pool(request):
    return request.param


@pytest.fixture
def celery_app():
    return app


# Alone in its process: whatever it may not ask the database is asked first here.
def test_without_a_database(celery_worker):
    assert day_after.delay(date(2026, 2, 28)).get(timeout=60) == date(2026, 3, 1)


@pytest.mark.django_db(transaction=True)
def test_with_a_database(celery_worker):
    assert count_people.delay().get(timeout=60) == 0
