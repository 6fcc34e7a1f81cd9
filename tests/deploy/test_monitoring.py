"""Rules, board and scaling name figures that there are, in words that their programs understand."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import programs
from tests.programs import ROOT
from workers.ops.metrics import registry

FOLDER = ROOT / "deploy/monitoring"
RULES = FOLDER / "alerts.yaml"
BOARD = FOLDER / "dashboard.json"
SCALING = ROOT / "deploy/kubernetes/monitoring.yaml"


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return list(json.loads(BOARD.read_text())["panels"])


def board_queries() -> list[str]:
    return [str(target["expr"]) for panel in panels() for target in panel["targets"]]


def queries() -> Iterator[str]:
    yield from (str(rule["expr"]) for rule in rules())
    yield from board_queries()
    for document in yaml.safe_load_all(SCALING.read_text()):
        for trigger in document["spec"].get("triggers", ()):
            yield trigger["metadata"]["query"]


@pytest.mark.django_db
def test_every_figure_that_is_asked_for_is_there():
    text = registry.exposition().decode()
    # A database that is no PostgreSQL says nothing of its tables.
    there = {*re.findall(r"^# TYPE (\w+)", text, re.MULTILINE), "sas_table_bytes"}
    histograms = re.findall(r"^# TYPE (\w+) histogram", text, re.MULTILINE)
    there |= {f"{name}_{part}" for name in histograms for part in ("bucket", "sum", "count")}
    asked = {name for query in queries() for name in re.findall(r"\bsas_\w+", query)}
    assert len(asked) > 15
    assert asked <= there


@pytest.mark.django_db
def test_every_figure_is_in_the_how_to():
    page = (ROOT / "docs/how-to/watch-with-prometheus.md").read_text()
    text = registry.exposition().decode()
    names = {*re.findall(r"^# TYPE (\w+)", text, re.MULTILINE), "sas_table_bytes"}
    assert {name for name in names if f"| `{name}" not in page} == set()


def test_each_rule_says_what_to_do():
    for rule in rules():
        assert rule["labels"]["severity"] in {"page", "warn", "ticket"}
        assert set(rule["annotations"]) == {"summary", "remedy"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here")
def test_prometheus_understands_the_rules():
    done = programs.run("promtool", "check", "rules", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here")
def test_the_rules_page_for_what_they_say(tmp_path):
    cases = Path(__file__).with_name("alerts_test.yaml")
    for path in (RULES, cases):
        shutil.copy(path, tmp_path)
    words = ["promtool", "test", "rules", str(tmp_path / cases.name)]
    done = programs.run(*words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_figures_of_several_web_processes_are_made_one():
    one = r"max without \(instance, pod\) \((?:predict_linear\()?$"
    for query in [*map(str, (rule["expr"] for rule in rules())), *board_queries()]:
        for figure in re.finditer(r"\bsas_\w+", query):
            before = query[: figure.start()]
            assert re.search(one, before) or before.endswith("absent("), query


def test_panels_lie_side_by_side_and_each_asks_for_something():
    places = {(one["gridPos"]["x"], one["gridPos"]["y"]) for one in panels()}
    assert len(places) == len(panels()) == len({one["id"] for one in panels()})
    assert all(one["targets"] and one["title"] for one in panels())
