"""Django finds the parts of a list by its app's name: each app's lists have ours."""

import pytest
from django.contrib import admin
from django.template.loader import get_template

OURS = {
    model._meta.app_label
    for model, page in admin.site._registry.items()
    if type(page).__module__.startswith(("workers.desk", "orders"))
}


@pytest.mark.parametrize("part", ["actions", "pagination", "search_form"])
@pytest.mark.parametrize("app", sorted(OURS))
def test_a_list_has_our_part(app, part):
    source = get_template(f"admin/{app}/{part}.html").template.source
    assert app == "workers" or source.strip() == f'{{% include "admin/workers/{part}.html" %}}'


def test_discovery_finds_known_cases():
    assert {"workers", "desk", "orders"} <= OURS
