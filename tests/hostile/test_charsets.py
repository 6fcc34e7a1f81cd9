"""The charset that a request gives itself: whatever it is, the request is read as UTF-8."""

from io import BytesIO
from typing import Any

import pytest

from tests.hostile import corpus

pytestmark = pytest.mark.django_db


def ask(method: str, path: str, query: str, label: str, body: bytes = b"") -> tuple[str, bytes]:
    """Ask the application as a server does; return the status and the answer."""
    # It looks for its tables when it is imported, as a server does.
    from sasproject.wsgi import application

    said: list[str] = []

    def start_response(status: str, headers: Any, error: Any = None) -> None:
        said.append(status)

    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": label,
        "CONTENT_LENGTH": str(len(body)),
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "wsgi.input": BytesIO(body),
        "wsgi.url_scheme": "http",
    }
    answer = b"".join(application(environ, start_response))
    return said[0], answer


@pytest.mark.parametrize(
    "charset",
    ["hex", "utf-7", "utf-16", "idna", "undefined", "rot13", "no-such", "\x00", '"hex"', ""],
)
@pytest.mark.parametrize("path", ["/basket/", "/admin/login/"])
def test_a_page(charset, path):
    status, answer = ask("GET", path, "q=%2B2AA-%ff", f"text/html; charset={charset}")
    assert status == "200 OK"
    assert b"<title>" in answer


def test_the_other_parameters_stay():
    label = "application/json; charset=utf-16; version=1"
    status, answer = ask("POST", "/api/v1/callbacks/x", "", label, corpus.text({"result": {}}))
    assert status == "404 Not Found"
    assert b"callback token" in answer
