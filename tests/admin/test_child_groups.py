"""Children on the page of their parent, folded; their parent on theirs; both in the terminal."""

import json

import pytest
from django.test import Client

from tests.fleets import born, fails, fleet
from tests.programs import said
from workers import Permanent, cancel, status
from workers.client import explaining
from workers.models import ChildGroup


@pytest.fixture
def broken(wire, clock):
    fails(2, fault=Permanent("broken", "it is broken"))
    process = fleet(7)
    wire.run_until_settled(clock)
    return process


def page(client: Client, process) -> str:
    return client.get(f"/admin/workers/process/{process.pk}/change/").content.decode()


def test_page_folds_the_children_with_counts_bar_faults_and_a_link(operator, broken):
    html = page(operator, broken)

    group = ChildGroup.objects.get()
    assert f'<details id="children-{group.pk}">' in html
    assert "Children of each, under way: 6 of 7 have ended" in html
    assert '<progress max="7" value="6"' in html
    assert "it is broken" in html
    stuck = born().get(state="error")
    assert f'<a href="/admin/workers/process/{stuck.pk}/change/">Child 2</a>' in html
    assert f'href="/admin/workers/process/?group={group.pk}"' in html
    assert "waits for its children: 6 of 7 have ended, 1 under way, 1 in error" in html
    assert "9999-" not in html
    assert "<dt>Failed</dt>" in html


def test_list_of_a_group_has_its_children_alone(operator, broken):
    fleet(3)
    html = operator.get(
        f"/admin/workers/process/?group={ChildGroup.objects.get().pk}"
    ).content.decode()

    assert "Fleet/6" in html
    assert f"/admin/workers/process/{broken.pk}/change/" not in html
    nothing = operator.get("/admin/workers/process/?group=x").content.decode()
    assert "/change/" not in nothing.partition("result_list")[2].partition("</table>")[0]


def test_child_links_to_its_parent(operator, broken):
    html = page(operator, born().get(subject="Fleet/4"))

    assert f'<a href="/admin/workers/process/{broken.pk}/change/">Fleet</a> (number 4)' in html


def test_status_says_how_far_the_children_are(broken):
    step = next(step for step in status(broken.pk).steps if step.name == "each")

    assert step.explanation == (
        "waits for its children: 6 of 7 have ended, 1 under way, 1 in error, which need an operator"
    )
    assert explaining.words()
    # It has no time of its own: its children have theirs.
    assert (step.complete_by, step.remaining_seconds) == (None, None)


def test_terminal_shows_them(broken):
    text = said("sas", "process", "show", str(broken.pk))
    assert "Children of each: 6 of 7 ended, 0 failed, 1 under way, under way" in text
    assert "2  error  " in text
    facts = json.loads(said("sas", "process", "show", str(broken.pk), "--json"))
    [line] = facts["children"]
    assert (line["total"], line["processed"], line["under_way"]) == (7, 6, 1)
    assert line["faults"][0]["index"] == 2
    child = json.loads(said("sas", "process", "show", str(born().first().pk), "--json"))
    assert child["parent"]["subject"] == "Fleet"


def test_undone_children_are_not_called_failed(operator, broken, wire, clock):
    cancel(broken.pk, actor="operator:ann", reason="no longer wanted")
    wire.run_until_settled(clock)

    assert "<dt>Undone or failed</dt>" in page(operator, broken)
    text = said("sas", "process", "show", str(broken.pk))
    assert "Children of each: 7 of 7 ended, 7 undone or failed, 0 under way, no more" in text
