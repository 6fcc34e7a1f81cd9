"""A faulty definition behind a good one: whoever asks is told of the fault itself, each time."""

import os
from pathlib import Path

import pytest

from tests import programs
from tests.programs import ROOT

SETTINGS = """
SECRET_KEY = "trips"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "workers", "trips"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "trips.sqlite3"}}
CELERY_BROKER_URL = "memory://"
"""
CELERY = """
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "trips.settings")
from celery import Celery
from workers.celery import install
app = Celery("trips")
app.config_from_object("django.conf:settings", namespace="CELERY")
install(app)
"""
GOOD_AGENT = """
from workers import Agent, register_agent

@register_agent
class Book(Agent):
    name = "flight.book"

    def run(self, call):
        return {}
"""
GOOD_WORKFLOW = """
from workers import Workflow, register_workflow, step

register_workflow(Workflow("trip", 1, (step("book", "flight.book"),)))
"""
#: Checks twice as one process does: a reloader, or a test run.
CHECKS = """
import trips.celery
import django
from django.core.management import call_command
from django.core.management.base import SystemCheckError
django.setup()
for _ in range(2):
    try:
        call_command("check")
    except SystemCheckError as error:
        print(error)
"""
#: What is declared last in its module, and what names the fault.
FAULTY_WORKFLOWS = {
    "cycle": ('step("a", "flight.book", after="b"), step("b", "flight.book", after="a")', "cycle"),
    "doubled step": (
        'step("a", "flight.book"), step("a", "flight.book")',
        "two steps have the same name",
    ),
    "unknown step before": ('step("a", "flight.book", after="hotel")', "hotel"),
    "no step": ("", "no steps"),
    "no time": ('step("a", "flight.book", timeout_seconds=0)', "timeout_seconds"),
}
FAULTY_AGENT = """
@register_agent
class Cancel(Agent):
    name = "flight.cancel"
    window = 0

    def run(self, call):
        return {}
"""


def project(folder: Path, *, workflows: str = "", agents: str = "") -> Path:
    """Make a project whose app ends its modules with these declarations."""
    app = folder / "trips"
    app.mkdir()
    for name, text in {
        "__init__.py": "from trips.celery import app as celery_app\n",
        "settings.py": SETTINGS,
        "celery.py": CELERY,
        "agents.py": GOOD_AGENT + agents,
        "workflows.py": GOOD_WORKFLOW + workflows,
    }.items():
        (app / name).write_text(text)
    return folder


def run(folder: Path, *words: str) -> str:
    done = programs.python(
        *words,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "DJANGO_SETTINGS_MODULE": "trips.settings",
            "C_FORCE_ROOT": "1",
        },
        seconds=60,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(("steps", "named"), FAULTY_WORKFLOWS.values(), ids=FAULTY_WORKFLOWS)
def test_check_names_the_fault_of_a_workflow_behind_a_good_one(steps, named, tmp_path):
    text = f'\nregister_workflow(Workflow("ride", 1, ({steps}{"," if steps else ""})))\n'

    said = run(project(tmp_path, workflows=text), "-c", CHECKS)

    assert said.count("workers.E003") == 2, said
    assert said.count(named) >= 2, said
    assert "registered twice" not in said


def test_check_names_the_fault_of_a_module_that_does_not_run(tmp_path):
    """Such as a forgotten comma between two steps: Python's own error."""
    text = '\nWorkflow("ride", 1, (step("a", "flight.book")(step("b", "flight.book"))))\n'
    folder = project(tmp_path, workflows=text)

    said = run(folder, "-m", "django", "check")

    assert "'StepSpec' object is not callable" in said
    assert "registered twice" not in said


def test_a_module_that_cannot_be_imported_is_named_in_a_line_of_check(tmp_path):
    folder = project(tmp_path, agents='\nimport os\n\nos.environ["LLM_API_KEY"]\n')

    said = run(folder, "-m", "django", "check")

    line = "App trips: trips.agents cannot be imported: KeyError: 'LLM_API_KEY' (trips/agents.py, "
    assert f"(workers.E003) {line}" in said
    assert "Traceback" not in said


def test_a_module_that_cannot_be_imported_is_named_by_a_worker(tmp_path):
    folder = project(tmp_path, agents='\nimport os\n\nos.environ["LLM_API_KEY"]\n')

    said = run(folder, "-m", "celery", "-A", "trips", "worker", "--pool=solo")

    assert "App trips: trips.agents cannot be imported: KeyError: 'LLM_API_KEY'" in said
    assert "Traceback" not in said


def test_check_names_the_fault_of_an_agent_behind_a_good_one(tmp_path):
    said = run(project(tmp_path, agents=FAULTY_AGENT), "-c", CHECKS)

    assert said.count("(workers.E003) Agent flight.cancel: window must be") == 2, said
    assert "Two agents" not in said


def test_a_worker_ends_with_the_fault_itself(tmp_path):
    folder = project(tmp_path, agents=FAULTY_AGENT)

    said = run(folder, "-m", "celery", "-A", "trips", "worker", "--pool=solo")

    assert "Agent flight.cancel: window must be" in said
    assert "Two agents" not in said
