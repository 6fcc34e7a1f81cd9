"""What browsers are told they may do with every answer, and what goes into a cookie."""

import os
import re
import secrets
import subprocess
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client, RequestFactory

from tests import programs
from tests.programs import ROOT
from tests.shop.conftest import order_with

PRODUCTION = {
    "DJANGO_DEBUG": "off",
    "DJANGO_SECRET_KEY": secrets.token_urlsafe(60),
    "DJANGO_ALLOWED_HOSTS": "shop.example.org",
    "DJANGO_CSRF_TRUSTED_ORIGINS": "https://shop.example.org",
    "DJANGO_BEHIND_PROXY": "on",
    "BROKER_URL": "amqp://shop@mq.example.org/shop",
    "EMAIL_URL": "smtp://mail.example.org:25",
    "DEFAULT_FROM_EMAIL": "shop@shop.example.org",
    "SANDBOX_URL": "https://services.example.org",
}
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
}
PAGES = {
    "/": 200,
    "/products/MUG/": 200,
    "/basket/": 200,
    "/my-orders/": 200,
    "/no/such/page/": 404,
    "/admin/login/": 200,
    "/admin/": 302,
    "/api/v1/openapi.json": 200,
    "/api/v1/orders": 401,
    "/livez": 200,
    "/static/orders/lantern.svg": 200,
    "/static/orders/no-such.svg": 404,
}


def policy_of(answer: Any) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in answer["Content-Security-Policy"].split(";"))
    return {name: sources for name, _, sources in parts}


@pytest.mark.parametrize(("path", "status"), PAGES.items())
def test_every_answer_says_what_may_be_done_with_it(client, product, path, status):
    answer = client.get(path)
    assert answer.status_code == status
    assert policy_of(answer) == POLICY
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]
    assert "payment=()" in answer["Permissions-Policy"]


def test_pages_of_staff_say_the_same(admin_client):
    for path in ("/admin/", "/admin/orders/order/", "/admin/orders/apiclient/"):
        answer = admin_client.get(path)
        assert answer.status_code == 200
        assert policy_of(answer) == POLICY
        assert answer["X-Frame-Options"] == "DENY"


def test_the_page_of_the_api_is_for_staff_and_has_images_of_its_own(client, admin_client):
    answer = admin_client.get("/api/v1/docs")
    assert answer.status_code == 200
    assert policy_of(answer) == POLICY | {"img-src": "'self' data:"}
    assert not re.findall(r"(?:src|href)=\"(?!/static/)", answer.content.decode())

    get_user_model().objects.create_user("buyer", password="a-long-password")
    client.force_login(get_user_model().objects.get(username="buyer"))
    for stranger in (Client(), client):
        assert stranger.get("/api/v1/docs").headers["Location"].startswith("/admin/login/")


def test_no_template_of_ours_has_anything_inline():
    inline = re.compile(
        r"<style|<[^>]*\s(?:style|on\w+|hx-on\S*)=|javascript:|<script(?![^>]*\ssrc=)",
        re.IGNORECASE,
    )
    tags = re.compile(r"{%.*?%}|{{.*?}}")
    templates = [
        path
        for app in ("orders", "workers/desk")
        for path in (ROOT / app / "templates").rglob("*.html")
    ]
    assert len(templates) > 40
    assert [
        path.name for path in templates if inline.search(tags.sub("", path.read_text("utf-8")))
    ] == []


@pytest.mark.parametrize("path", ["/", "/admin/login/"])
def test_pages_name_their_icon_and_the_icon_is_there(client, path):
    named = re.search(
        r'<link rel="icon" href="([^"]+)" type="image/svg\+xml">', client.get(path).content.decode()
    )
    assert named is not None
    answer = client.get(named[1])
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/svg+xml")


def test_favicon_path_redirects_to_svg_icon(client):
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert client.get(answer["Location"])["Content-Type"] == "image/svg+xml"
    assert answer["Cache-Control"] == "public, max-age=86400"
    assert not answer.cookies


def test_what_concerns_one_visitor_is_kept_in_no_cache(client, buyer):
    order = order_with()
    secret = order.get_absolute_url()
    for path in ("/basket/", "/checkout/", "/my-orders/", secret, f"{secret}progress/"):
        kept = buyer.get(path)["Cache-Control"]
        assert {"no-store", "private"} <= set(kept.split(", ")), path


def test_no_page_is_told_the_address_of_an_order(client):
    secret = order_with().get_absolute_url()
    for path in (secret, f"{secret}progress/"):
        assert client.get(path)["Referrer-Policy"] == "no-referrer"


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(buyer):
    kept = {name: cookie for name, cookie in buyer.cookies.items() if cookie.value}
    assert set(kept) == {"sessionid", "csrftoken"}
    for cookie in kept.values():
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def in_production(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    ours = ("DJANGO_", "SAS_", "DATABASE_URL", "BROKER_URL")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return programs.python(*words, env={**inherited, **PRODUCTION, **changes})


@pytest.mark.volume
def test_nothing_is_left_to_warn_of_in_production(tmp_path):
    for words in (("migrate", "-v", "0"), ("collectstatic", "--noinput", "-v", "0")):
        prepared = in_production("manage.py", *words, SAS_RUN_DIR=str(tmp_path))
        assert prepared.returncode == 0, prepared.stderr
    words = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    done = in_production(*words, SAS_RUN_DIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues (0 silenced)" in done.stdout

    weak = in_production(*words, SAS_RUN_DIR=str(tmp_path), DJANGO_SECRET_KEY="ab" * 30)
    assert weak.returncode == 1
    assert "security.W009" in weak.stderr


@pytest.mark.volume
@pytest.mark.parametrize("sender", ["shop@localhost", "garbage"])
def test_deploy_check_and_doctor_refuse_settings_that_reach_no_service(tmp_path, sender):
    changes = {
        "EMAIL_URL": "consolemail://",
        "DEFAULT_FROM_EMAIL": sender,
        "SANDBOX_URL": "http://localhost:8900",
    }
    for words in (("check", "--deploy"), ("doctor", "--only", "settings", "--only", "migrations")):
        done = in_production("manage.py", *words, SAS_RUN_DIR=str(tmp_path), **changes)
        said = done.stdout + done.stderr
        assert done.returncode == 1
        for wrong in (
            "Mail goes to",
            f"Mail is sent from '{sender}'",
            "services are called at",
            "Static files are not",
            "igrations",
        ):
            assert wrong in said, said


@pytest.mark.volume
def test_files_have_names_that_browsers_keep(tmp_path):
    changes = {"SAS_RUN_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "sasproject.settings"}
    source = (
        "import django; django.setup(); from django.templatetags.static import static; "
        "print(static('orders/lantern.svg'))"
    )
    before = in_production("-c", source, **changes)
    assert before.stdout == "/static/orders/lantern.svg\n", before.stderr
    in_production("manage.py", "collectstatic", "--noinput", **changes)
    after = in_production("-c", source, **changes)
    assert re.fullmatch(r"/static/orders/lantern\.[0-9a-f]{12}\.svg\n", after.stdout), after.stderr
    assert list((tmp_path / "static").rglob("*.css.gz"))


ASK = """
import django
django.setup()
from django.core.management import call_command
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client, RequestFactory
call_command("migrate", verbosity=0)
https = {"HTTP_HOST": "shop.example.org", "HTTP_X_FORWARDED_PROTO": "https"}
plain = Client().get("/", HTTP_HOST="shop.example.org")
print(plain.status_code, plain["Location"])
page = Client().get("/admin/login/", **https)
print(page.status_code, page["Strict-Transport-Security"])
print(all(one["secure"] and one["httponly"] for one in page.cookies.values()), len(page.cookies))
print(Client().get("/", **{**https, "HTTP_HOST": "evil.example.org"}).status_code)
print("default-src 'none'" in page["Content-Security-Policy"])
"""


@pytest.mark.volume
def test_in_production_everything_goes_by_https(tmp_path):
    changes = {"SAS_RUN_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "sasproject.settings"}
    done = in_production("-W", "ignore", "-c", ASK, SAS_LOG_LEVEL="CRITICAL", **changes)
    assert done.stdout.splitlines() == [
        "301 https://shop.example.org/",
        "200 max-age=31536000; includeSubDomains; preload",
        "True 1",
        "400",
        "True",
    ], done.stderr


@pytest.mark.parametrize("path", [*PAGES, "/readyz"])
def test_head_is_answered_without_a_body(path):
    """As the server has it: the tests' own client would take a body away."""
    began: list[str] = []
    environ = RequestFactory().head(path).environ
    answer = WSGIHandler()(environ, lambda status, headers: began.append(status))
    assert (b"".join(answer), len(began)) == (b"", 1)
    answer.close()
