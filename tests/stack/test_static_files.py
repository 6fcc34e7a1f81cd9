"""`check --deploy` says what is missing: static files, and how to collect them, a proxy."""

from pathlib import Path

import pytest
from django.core.checks import CheckMessage

from sasproject.checks import MANIFEST, check_production


@pytest.fixture
def folder(tmp_path, settings) -> Path:
    settings.IS_LOCAL = False
    settings.STATIC_ROOT = str(tmp_path / "static")
    return tmp_path / "static"


def found() -> list[CheckMessage]:
    return [one for one in check_production(None) if one.id == "sasproject.E003"]


@pytest.mark.parametrize("is_made", [False, True], ids=["no folder", "an empty folder"])
def test_files_that_are_not_collected(folder, is_made):
    if is_made:
        folder.mkdir()
    (said,) = found()
    assert said.msg == f"Static files are not collected in {folder}."
    assert str(said.hint).startswith("Run `manage.py collectstatic")


def test_files_that_are_collected_without_hashed_names(folder):
    folder.mkdir()
    (folder / "shop.css").touch()
    (said,) = found()
    assert said.msg == f"Static files are collected in {folder} without hashed names."
    assert str(said.hint).startswith("Collect them with the settings of production. Run `manage")


def test_files_that_are_collected(folder):
    folder.mkdir()
    (folder / "shop.5eb1.css").touch()
    (folder / MANIFEST).touch()
    assert found() == []


@pytest.mark.parametrize("is_there", [False, True])
def test_a_proxy_that_nothing_is_said_of(folder, settings, is_there):
    settings.BEHIND_PROXY = is_there
    assert ("sasproject.W002" in {one.id for one in check_production(None)}) != is_there
