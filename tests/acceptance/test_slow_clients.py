"""The web as it ships, beside clients that wait and clients that never finish their requests."""

import shutil
import socket
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests import programs
from tests.acceptance.system import System
from tests.programs import ROOT, free_port, until
from tests.services import missing

pytestmark = pytest.mark.slow
HOST = "shop.example.org"
WAITERS, SLOW = 200, 50
PLACE = """
from django.utils import timezone
from orders.models import Order, Product
from orders.submission import Customer, Line, place_order
product = Product.objects.get(sku="SKU-001")
customer = Customer("Ada", "ada@example.org", "1 Mill Lane")
order, _ = place_order(customer, [Line(product.sku, 1)], submission_key="a",
                       source=Order.Source.API, submitter="client:acme")
print(order.public_id)
"""


@pytest.fixture
def web(tmp_path) -> Iterator[System]:
    """The documented command, outside DEBUG."""
    with System(
        tmp_path,
        DJANGO_DEBUG="off",
        DJANGO_LOOPBACK_ONLY="off",
        DJANGO_SECRET_KEY="a-long-random-text-of-this-test-alone-and-of-no-other",
        DJANGO_ALLOWED_HOSTS=HOST,
        DJANGO_BEHIND_PROXY="on",
    ) as system:
        system.manage("migrate", "-v", "0")
        system.manage("seed_demo", "-v", "0", "--no-users")
        system.start("web", "-m", "gunicorn", "sasproject.wsgi", "--bind", "127.0.0.1:0")
        until(lambda: "Listening at: " in system.log("web"), 40)
        yield system


@pytest.fixture
def proxied(web, tmp_path) -> Iterator[int]:
    """The port of a proxy before the web."""
    gunicorn = web.log("web").split("Listening at: http://")[1].split(" ")[0]
    with proxy(gunicorn, tmp_path) as (port, _):
        until(lambda: _livez(port) is not None, 20)
        yield port


@contextmanager
def proxy(gunicorn: str, tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Run nginx with the file that ships, but for addresses and certificate; yield its ports."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if nginx is None:
        missing("no nginx")
    programs.run(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj"),
        f"/CN={HOST}",
        "-out",
        tmp_path / "cert.pem",
        "-keyout",
        tmp_path / "key",
        check=True,
    )
    port, plain = free_port(), free_port()
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for ours, theirs in (
        ("listen [::]:80;", ""),
        ("listen [::]:443 ssl;", ""),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("/etc/ssl/shop/fullchain.pem", str(tmp_path / "cert.pem")),
        ("/etc/ssl/shop/key.pem", str(tmp_path / "key")),
        ("127.0.0.1:8000", gunicorn),
    ):
        assert ours in text
        text = text.replace(ours, theirs)
    (tmp_path / "shop.conf").write_text(text)
    folders = "".join(
        f"{name}_temp_path {tmp_path}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/nginx.pid; events {{ worker_connections 768; }}"
        f"http {{ access_log off; {folders} include {tmp_path}/shop.conf; }}"
    )
    words = [nginx, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"]
    with subprocess.Popen(words) as server:
        try:
            yield port, plain
        finally:
            server.terminate()


def connect(port: int) -> socket.socket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    return context.wrap_socket(plain, server_hostname=HOST)


def _livez(port: int) -> float | None:
    """Return how long the probe took; None: it was not answered."""
    began = time.monotonic()
    try:
        with connect(port) as one:
            one.sendall(
                f"GET /livez HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
            )
            answer = one.recv(100)
    except OSError:
        return None
    return time.monotonic() - began if b" 200 " in answer else None


class Slow:
    """A client that never ends its request, and comes again when it is turned away."""

    def __init__(self, port: int, *, ends_headers: bool) -> None:
        self._port, self._ends_headers = port, ends_headers
        self._begin()

    def _begin(self) -> None:
        self._socket = connect(self._port)
        head = f"POST /api/v1/webhooks/bank HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 60000\r\n"
        self._socket.sendall((head + ("\r\n{" if self._ends_headers else "")).encode())

    def drip(self) -> None:
        try:
            self._socket.sendall(b" " if self._ends_headers else b"X-A: b\r\n")
        except OSError:
            self.close()
            self._begin()

    def close(self) -> None:
        self._socket.close()


def test_liveness_check_answers_beside_waiting_and_slow_clients(web, proxied):
    token = web.manage("client", "add", "acme").split()[-1]
    path = f"/api/v1/orders/{web.python(PLACE).split()[-1]}?wait=20"
    wait = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {token}\r\n\r\n"
    with ExitStack() as stack:
        slow = [Slow(proxied, ends_headers=number % 2 == 0) for number in range(SLOW)]
        for one in slow:
            stack.callback(one.close)
        waiters = []
        for _ in range(WAITERS):
            # At once: who says nothing for long is turned away.
            waiters.append(stack.enter_context(connect(proxied)))
            waiters[-1].sendall(wait.encode())
        took = []
        for second in range(8):
            took.append(_livez(proxied))
            for one in slow if second % 4 == 0 else ():
                one.drip()
            time.sleep(1)
        answers = [one.recv(2000).partition(b"\r\n\r\n")[0] for one in waiters]

    assert all(seconds is not None and seconds < 1 for seconds in took[1:]), took
    assert Counter(answer.partition(b"\r\n")[0] for answer in answers) == {
        b"HTTP/1.1 200 OK": WAITERS
    }
    at_once = [answer for answer in answers if b"Preference-Applied: wait=0" in answer]
    assert 0 < WAITERS - len(at_once) <= 8


def test_without_a_proxy_the_probe_is_answered_beside_who_says_nothing_or_does_not_close(web):
    port = int(web.log("web").split("Listening at: http://127.0.0.1:")[1].split(" ")[0])
    https = "X-Forwarded-Proto: https\r\nConnection: close\r\n\r\n"
    request = f"GET /livez HTTP/1.1\r\nHost: {HOST}\r\n{https}".encode()

    def plain(said: bytes) -> socket.socket:
        one = socket.create_connection(("127.0.0.1", port), timeout=30)
        one.sendall(said)
        return one

    def probe() -> float:
        began = time.monotonic()
        with plain(request) as one:
            assert b" 200 " in one.recv(100)
        return time.monotonic() - began

    # The first request loads what the others find loaded.
    probe()
    with ExitStack() as stack:
        for said in [request] * 8 + [b""] * 60:
            stack.enter_context(plain(said))
        took = [probe() for _ in range(3)]

    # The loop lingered over the eight for 16 s, the threads over the silent for 15 s.
    assert max(took) < 3, took


def test_plain_http_leads_to_the_shop_whatever_host_was_asked_for(tmp_path):
    with proxy(f"127.0.0.1:{free_port()}", tmp_path) as (_, port):
        answers: list[bytes] = []

        def is_answered() -> bool:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as one:
                    one.sendall(b"GET /x?y HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                    answers.append(one.recv(1000))
            except OSError:
                return False
            return True

        until(is_answered, 20)
    assert f"Location: https://{HOST}/x?y\r\n".encode() in answers[-1]
