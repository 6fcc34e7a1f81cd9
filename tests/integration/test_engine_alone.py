"""The engine in a project without the operators' desk, and with what is looked at beside it."""

import os
from pathlib import Path

from tests import programs
from tests.programs import ROOT

PLAIN = """
from pathlib import Path
SECRET_KEY = "trips" * 10
USE_TZ = True
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "trips.urls"
"""
ADMIN = """
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
    "django.contrib.sessions", "django.contrib.messages", "django_celery_beat",
    "workers", "trips",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]},
}]
"""
DATABASE = """
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": Path(__file__).parent / "trips.sqlite3",
    "OPTIONS": {"transaction_mode": "IMMEDIATE"},
}}
CELERY_BROKER_URL = "memory://"
"""
OPS = """
INSTALLED_APPS = [
    "workers", "django_celery_beat", "workers.ops", "trips",
    # Rows name who decided: the engine needs users, whatever else is there.
    "django.contrib.auth", "django.contrib.contenttypes",
]
MIDDLEWARE = ["workers.ops.metrics.view.Metrics"]
"""
URLS = """
from django.contrib import admin
from django.urls import path
urlpatterns = [path("admin/", admin.site.urls)]
"""
CELERY = """
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "trips.settings")
from celery import Celery
from workers.celery import install
app = Celery("trips")
app.config_from_object("django.conf:settings", namespace="CELERY")
install(app)
app.autodiscover_tasks()
"""
AGENTS = """
from workers import Agent, Permanent, register_agent

@register_agent
class Book(Agent):
    name = "flight.book"

    def run(self, call):
        if call.payload["to"] == "nowhere":
            raise Permanent("no_such_place", "no such place")
        return {"seat": "12a"}
"""
WORKFLOWS = """
from workers import Workflow, register_workflow, step

register_workflow(
    Workflow("trip", 1, (step("book", "flight.book"),))
)
"""
RUN = """
import trips.celery, django, sys
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import workers
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.test import Client
from workers.models import Alert, Process
from workers.operate import retention
from workers.testing import frozen_clock, wired
with frozen_clock() as clock, wired() as wire:
    for place in ("Oslo", "nowhere"):
        workers.submit("trip", subject=f"Trip to {place}", input={"to": place})
    wire.run_until_settled(clock)
    print(*Process.objects.order_by("id").values_list("state", flat=True))
    print(*Alert.objects.values_list("code", "resolved_at"))
    print(workers.status(Process.objects.last().pk).headline)
    workers.cancel(Process.objects.last().pk, actor="operator:ann", reason="no such place")
    wire.run_until_settled(clock)
print(*Process.objects.order_by("id").values_list("state", flat=True))
print(Alert.objects.get(code='process_error').resolved_at is not None)
print(*sorted(retention.prune()))
client = Client()
client.force_login(User.objects.create_superuser("root"))
client.raise_request_exception = True
for model in sorted(model._meta.model_name for model in site._registry):
    if model in ("process", "step", "alert", "sink", "flow", "hold"):
        listed = client.get(f"/admin/workers/{model}/")
        print(model, listed.status_code, client.get(f"/admin/workers/{model}/add/").status_code)
page = client.get(f"/admin/workers/process/{Process.objects.first().pk}/change/")
html = page.content.decode()
print(page.status_code, "Trip to Oslo" in html, 'name="subject"' in html)
alert = Alert.objects.get(code="process_error")
page = client.get(f"/admin/workers/alert/{alert.pk}/change/").content.decode()
print("no such place" in page, "in the documentation: process_error" in page)
print(*sorted(name for name in sys.modules if name.startswith("workers.desk")))
"""


LOOK = """
import trips.celery, django, sys
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import workers
from django.apps import apps
from django.test import Client
from workers.management.commands import sas
print(*sas.nouns())
workers.submit("trip", subject="Trip to Oslo", input={"to": "Oslo"})
call_command("check", deploy=True, fail_level="ERROR")
call_command("sas", "invariants")
call_command("sas", "doctor", "--only", "database", "--only", "settings", "--only", "agents")
page = Client().get("/metrics", HTTP_HOST="localhost").content.decode()
print('sas_processes_open{state="pending",workflow="trip"} 1.0' in page)
print(*sorted(
    name for name in sys.modules if name.startswith(("workers.desk", "django.contrib.admin"))
))
"""


def run(tmp_path: Path, script: str, settings: str) -> list[str]:
    app = tmp_path / "trips"
    app.mkdir()
    for name, text in {
        "__init__.py": "",
        "settings.py": settings,
        "urls.py": URLS if ADMIN in settings else "urlpatterns = []",
        "celery.py": CELERY,
        "agents.py": AGENTS,
        "workflows.py": WORKFLOWS,
    }.items():
        (app / name).write_text(text)

    done = programs.python(
        "-c",
        script,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}:{ROOT}",
            "DJANGO_SETTINGS_MODULE": "trips.settings",
        },
        seconds=120,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split("\n")


def test_the_engine_alone_runs_processes_and_shows_its_rows(tmp_path):
    assert run(tmp_path, RUN, PLAIN + ADMIN + DATABASE) == [
        "processed error",
        "('process_error', None)",
        "error; book: error fault=no_such_place",
        "processed cancelled",
        "True",
        "alerts flow journal journals processes undo requests webhooks",
        *(f"{name} 200 403" for name in ("alert", "flow", "hold", "process", "sink", "step")),
        "200 True False",
        "True True",
        # Nothing of the desk was loaded.
        "",
        "",
    ]


def test_doctor_invariants_and_figures_need_neither_admin_nor_desk(tmp_path):
    lines = run(tmp_path, LOOK, PLAIN + OPS + DATABASE)

    assert lines[0].split() == [
        *("alive", "doctor", "erase", "export", "flow", "invariants", "metrics", "persons"),
        *("process", "prune", "restored", "schedule", "sinks"),
    ]
    assert any(line.endswith("invariants checked, 0 rows break one.") for line in lines)
    assert {"database", "settings", "agents"} <= set(lines)
    assert lines[-3:] == ["True", "", ""], lines
