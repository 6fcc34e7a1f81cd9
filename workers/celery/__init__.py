"""What a project's Celery app needs to keep the engine's promises: one call.

app = Celery("acme")
app.config_from_object("django.conf:settings", namespace="CELERY")
install(app)
app.autodiscover_tasks()
"""

from workers.celery.installing import install

__all__ = ["install"]
