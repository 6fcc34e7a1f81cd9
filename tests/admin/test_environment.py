"""An installation that has a name says it on every page, before anybody clicks."""

from django.test import Client

MARK = '<aside class="sas-environment" aria-label="Installation">'
#: The shop's, the engine's, and what nobody has logged in for.
PAGES = ("/admin/", "/admin/orders/order/", "/admin/workers/flow/", "/admin/login/")


def test_every_page_says_where_one_is(operator, settings):
    settings.SAS_ENVIRONMENT = "staging <eu>"
    clients = dict.fromkeys(PAGES, operator) | {"/admin/login/": Client()}
    for url, client in clients.items():
        assert f"{MARK}staging &lt;eu&gt;</aside>" in client.get(url).content.decode(), url


def test_without_a_name_there_is_no_mark(operator):
    for url in PAGES:
        assert MARK not in operator.get(url).content.decode(), url
