"""Loopback-only: production's behaviour without its demands, for this machine alone."""

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from sasproject import loopback
from tests import programs


def environment(folder: Path, **changes: str) -> dict[str, str]:
    """Return that of a new user, with a run folder."""
    ours = ("DJANGO_", "SAS_", "DATABASE_URL", "BROKER_URL", "EMAIL_URL", "SANDBOX_URL")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**inherited, "SAS_RUN_DIR": str(folder), **changes}


def python(folder: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return programs.python(*words, env=environment(folder, **changes), seconds=120)


@pytest.mark.parametrize(
    ("argv", "given", "chosen"),
    [
        (["manage.py", "stack", "--no-sandbox"], {}, "on"),
        (["manage.py", "demo"], {}, "on"),
        (["manage.py", "migrate"], {}, None),
        (["manage.py"], {}, None),
        (["manage.py", "stack"], {"DJANGO_DEBUG": "off"}, None),
        (["manage.py", "stack"], {"DJANGO_LOOPBACK_ONLY": "off"}, "off"),
        (["manage.py", "stack"], {"DJANGO_LOOPBACK_ONLY": "", "DJANGO_DEBUG": ""}, "on"),
    ],
)
def test_stack_and_demo_run_so_unless_the_caller_has_chosen(
    argv: list[str], given: dict[str, str], chosen: str | None
) -> None:
    environ = dict(given)
    loopback.choose(argv, environ)
    assert environ.get("DJANGO_LOOPBACK_ONLY") == chosen


def test_other_host_names_are_refused():
    assert loopback.hosts([], mode="X") == ["localhost", "127.0.0.1", "[::1]"]
    assert loopback.hosts(["localhost"], mode="X") == ["localhost", "127.0.0.1", "[::1]"]
    for name in ("shop.example.org", "*", "0.0.0.0", ".example.org"):
        with pytest.raises(ImproperlyConfigured, match=f"got {name}".replace("*", r"\*")):
            loopback.hosts(["localhost", name], mode="X")


def test_processes_that_start_at_once_have_one_key_which_only_its_owner_reads(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: loopback.secret_key(tmp_path), range(8)))
    assert len(set(keys)) == 1
    assert len(keys[0]) >= 50
    assert [path.name for path in tmp_path.iterdir()] == ["secret-key"]
    assert stat.S_IMODE((tmp_path / "secret-key").stat().st_mode) == 0o600


ASK = """
import django
django.setup()
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from workers.http.ssrf_guard import problem_of_url
call_command("migrate", verbosity=0)
call_command("seed_demo", verbosity=0)
call_command("check", deploy=True, fail_level="ERROR")
print(settings.DEBUG, settings.ALLOWED_HOSTS)
for host in ("localhost", "127.0.0.1:8000", "[::1]", "shop.example.org"):
    print(Client(raise_request_exception=False).get("/", headers={"host": host}).status_code)
client = Client(headers={"host": "localhost"})
page = client.post("/admin/login/", {"username": "operator", "password": "operator"})
print(page.status_code, page.cookies["sessionid"]["secure"], "Strict-Transport-Security" in page)
print(client.get("/static/orders/lantern.svg").status_code)
print(problem_of_url("http://127.0.0.1:9000/told"))
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "static").mkdir()
    return tmp_path


def test_static_files_that_are_not_collected_are_no_warning_of_a_library(tmp_path):
    ask = "import sasproject.wsgi"
    assert python(tmp_path, "manage.py", "migrate", "-v", "0").returncode == 0
    done = python(tmp_path, "-c", ask, DJANGO_LOOPBACK_ONLY="on", SAS_LOG_LEVEL="ERROR")
    assert (done.returncode, done.stderr) == (0, "")


def test_production_for_this_machine_alone(folder):
    changes = {"DJANGO_LOOPBACK_ONLY": "on", "DJANGO_SETTINGS_MODULE": "sasproject.settings"}
    done = python(folder, "-c", ASK, SAS_LOG_LEVEL="CRITICAL", **changes)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[said.index("False ['localhost', '127.0.0.1', '[::1]']") + 1 :] == [
        *("200", "200", "200", "400"),
        "302  False",
        "200",
        "None",
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"DJANGO_LOOPBACK_ONLY": "on", "DJANGO_ALLOWED_HOSTS": "shop.example.org"}, "loopback"),
        ({"DJANGO_ALLOWED_HOSTS": "shop.example.org"}, "DJANGO_DEBUG=off"),
        ({"DJANGO_LOOPBACK_ONLY": "on", "DJANGO_DEBUG": "on"}, "both on"),
        ({"DJANGO_DEBUG": "off"}, "DJANGO_SECRET_KEY"),
        ({"DJANGO_DEBUG": "off", "DJANGO_SECRET_KEY": loopback.WELL_KNOWN_KEY}, "SECRET_KEY"),
        # What README would have had pasted, and whatever else is too short.
        ({"DJANGO_DEBUG": "off", "DJANGO_SECRET_KEY": "LONG_AND_RANDOM"}, "50 characters"),
        ({"DJANGO_DEBUG": "off", "DJANGO_SECRET_KEY": "k" * 49}, "50 characters"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_would_let_others_in_refuses_to_start(folder, changes, says):
    done = python(folder, "manage.py", "check", **changes)
    assert done.returncode != 0
    assert says in done.stderr.splitlines()[-1]
