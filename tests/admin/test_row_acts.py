"""Every act on a row of a list, found by its address: who may do it, and how it is asked for."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from workers.desk.admin.actions.row_act import RowAct
from workers.desk.models import BulkJob
from workers.models import Process

ADDRESS: dict[str, Any] = {"pk": 1, "agent": "toy.alpha", "prefix": "abc", "step": "a", "number": 1}


def acts() -> Iterator[tuple[str, list[str], RowAct]]:
    """Yield the name of each address that has an act, what it takes, and the act."""
    todo: list[Any] = list(get_resolver().url_patterns)
    while todo:
        pattern = todo.pop()
        if isinstance(pattern, URLResolver):
            todo += pattern.url_patterns
        elif isinstance(pattern, URLPattern) and (act := getattr(pattern.callback, "act", None)):
            yield f"admin:{pattern.name}", list(pattern.pattern.converters), act


ACTS = sorted(acts(), key=lambda one: one[0])


def url_of(name: str, takes: list[str]) -> str:
    return reverse(name, kwargs={part: ADDRESS[part] for part in takes})


def test_discovery_finds_known_cases():
    assert len(ACTS) >= 20
    assert {"admin:desk_incident_take", "admin:workers_hold_lift"} <= {name for name, *_ in ACTS}


@pytest.mark.parametrize(("name", "takes", "act"), ACTS, ids=[name for name, *_ in ACTS])
class TestEachAct:
    def test_its_permission_can_be_given(self, name, takes, act):
        app, _dot, codename = act.permission.partition(".")
        assert Permission.objects.filter(content_type__app_label=app, codename=codename).exists()

    def test_who_has_no_permission_does_nothing(self, client, name, takes, act):
        client.force_login(User.objects.create_user("ann", is_staff=True))
        # A job may be the user's own, and a step may have a permission of its own.
        status = 404 if act.model in (BulkJob, Process) and "number" not in takes else 403
        assert client.post(url_of(name, takes)).status_code == status

    def test_a_button_is_never_a_link(self, client, name, takes, act):
        client.force_login(User.objects.create_superuser("root"))
        status = client.get(url_of(name, takes)).status_code
        assert (status == 405) == (not act.has_page)
