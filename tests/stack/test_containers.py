"""In a container: a disk that cannot be written, an address below a prefix, and being process 1."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sasproject import run_folder
from tests.programs import ROOT

from .test_loopback import python

SERVERS = {
    "DJANGO_DEBUG": "off",
    "DJANGO_SECRET_KEY": "a key of this test, and of no other, long enough for all",
    "DJANGO_ALLOWED_HOSTS": "shop.test",
    "DATABASE_URL": "postgres://u:p@127.0.0.1:1/shop",
    "BROKER_URL": "amqp://u:p@127.0.0.1:1/shop",
    "EMAIL_URL": "smtp://u:p@127.0.0.1:1",
}
SETTINGS = (
    "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'sasproject.settings'\n"
    "from django.conf import settings; print(settings.RUN_DIR)"
)


def test_with_servers_for_everything_no_run_folder_is_needed():
    done = python(Path("/proc/none"), "-c", SETTINGS, **SERVERS)
    assert (done.returncode, done.stdout.strip()) == (0, "/proc/none"), done.stderr


@pytest.mark.parametrize("missing", ["DATABASE_URL", "BROKER_URL", "EMAIL_URL"])
def test_whatever_is_kept_in_files_needs_one(missing):
    given = {name: value for name, value in SERVERS.items() if name != missing}
    done = python(Path("/proc/none"), "-c", SETTINGS, **given)
    assert done.returncode != 0
    assert "SAS_RUN_DIR cannot be used: " in done.stderr


@pytest.mark.parametrize("url", ["", "sqlite:///x", "filesystem://", "filemail:///x"])
def test_files_are_known_by_their_schemes(url):
    assert run_folder.is_needed("postgres://h/d", url)


def test_existing_run_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    run_folder.make(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="cannot be written"):
        run_folder.make(tmp_path)


def test_below_a_prefix_styles_and_scripts_lead_there(tmp_path):
    code = (
        "import django; django.setup()\n"
        "from django.templatetags.static import static\n"
        "from django.test import Client; from django.urls import reverse\n"
        "print(reverse('orders:my_orders'), static('orders/lantern.svg'))\n"
        "page = Client(SCRIPT_NAME='/shop').get('/static/orders/lantern.svg')\n"
        "print(page.status_code)"
    )
    changes = {"DJANGO_SETTINGS_MODULE": "sasproject.settings", "SCRIPT_NAME": "/shop"}
    done = python(tmp_path, "-c", code, **changes)
    url, styles, status = done.stdout.split()
    assert url.startswith("/shop/"), done.stderr
    assert (styles, status) == ("/shop/static/orders/lantern.svg", "200")


def test_below_a_prefix_probes_are_answered_by_address_and_plain_http():
    code = (
        "import django; django.setup()\n"
        "from django.test import Client\n"
        "ask = Client(SCRIPT_NAME='/shop', headers={'Host': '10.1.2.3:8000'}).get\n"
        "print(ask('/livez').status_code, ask('/readyz').status_code, ask('/').status_code)"
    )
    changes = {"DJANGO_SETTINGS_MODULE": "sasproject.settings", "SCRIPT_NAME": "/shop"}
    done = python(Path("/proc/none"), "-c", code, **SERVERS, **changes)
    # The database of this test is away.
    assert done.stdout.split() == ["200", "503", "400"], done.stderr


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare on this machine")
@pytest.mark.parametrize("start", ["import manage; manage.main()", "import sasproject"])
def test_process_1_ends_while_it_imports(start):
    """A command, and what ``celery -A sasproject`` and gunicorn import first."""
    slow = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'celery':\n"
        "            print('importing', flush=True); time.sleep(60)\n"
        f"sys.meta_path.insert(0, Slow())\n{start}"
    )
    argv = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", slow]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "importing":
            process.wait(10)
            pytest.skip("this user may not make a namespace")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        began = time.monotonic()
        os.kill(int(children[0]), signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM
        assert time.monotonic() - began < 5
