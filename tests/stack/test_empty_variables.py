"""An empty variable counts as not set, whichever it is: `NAME=` in a file of Docker or systemd."""

import re

import pytest
from django.core.exceptions import ImproperlyConfigured

from sasproject import loopback
from sasproject.demo import environment
from sasproject.variables import Variables
from tests.programs import ROOT
from workers.checks import DEPLOYMENT_NAMES, check_settings
from workers.conf import declared, sas

from .test_loopback import python

SETTINGS = (ROOT / "sasproject" / "settings.py").read_text(encoding="utf-8")
OF_THE_PROJECT = set(re.findall(r'\benv\.\w+\(\s*"(\w+)"', SETTINGS))
EVERY = sorted(OF_THE_PROJECT | DEPLOYMENT_NAMES | {setting.name for setting in declared()})
ASK = """
import django
django.setup()
from django.conf import settings
from workers.conf import sas, declared
print({name: str(getattr(settings, name)) for name in sorted(dir(settings)) if name.isupper()})
print({one.name: getattr(sas, one.name.removeprefix("SAS_").lower()) for one in declared()})
"""


@pytest.mark.volume
def test_a_process_whose_variables_are_all_empty_has_the_defaults(tmp_path):
    module = {"DJANGO_SETTINGS_MODULE": "sasproject.settings"}
    empty = dict.fromkeys(EVERY, "")
    done, expected = (
        python(tmp_path, "-c", ASK, **{**module, **given})
        for given in (empty, {"SAS_RUN_DIR": str(ROOT / ".run")})
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, expected.stdout, "")
    assert "'SAS_WINDOW': 400" in done.stdout


@pytest.mark.parametrize("name", ["SAS_WINDOW", "SAS_WEBHOOK_PRIVATE_ADDRESSES", "SAS_NONSENSE"])
def test_an_empty_variable_of_the_engine_is_not_given(monkeypatch, name):
    monkeypatch.setenv(name, "")
    assert check_settings(None) == []
    assert sas.window == 400


def test_an_empty_variable_of_the_project_has_its_default(monkeypatch):
    monkeypatch.setenv("X_EMPTY", "")
    assert Variables().bool("X_EMPTY", default=True) is True
    assert Variables().str("X_EMPTY", default="usual") == "usual"


def test_a_text_that_begins_with_a_dollar_is_itself(monkeypatch):
    monkeypatch.setenv("X_SECRET", "$X_OTHER")
    monkeypatch.setenv("X_OTHER", "another variable")
    assert Variables().str("X_SECRET", default="") == "$X_OTHER"
    monkeypatch.delenv("X_OTHER")
    assert Variables().str("X_SECRET") == "$X_OTHER"


def test_old_secret_keys_are_read_and_the_well_known_one_is_refused():
    assert loopback.check_old_keys("") == []
    assert loopback.check_old_keys("one, $two ,") == ["one", "$two"]
    with pytest.raises(ImproperlyConfigured, match="DJANGO_SECRET_KEY_FALLBACKS"):
        loopback.check_old_keys(f"one,{loopback.WELL_KNOWN_KEY}")


def test_an_empty_variable_leaves_the_demo_s_own_value(tmp_path):
    prepared = environment.prepare({"SAS_WINDOW": "", "SAS_POLL_SECONDS": "7"}, tmp_path)
    assert prepared["SAS_WINDOW"] == environment.SETTINGS["SAS_WINDOW"]
    assert prepared["SAS_POLL_SECONDS"] == "7"
