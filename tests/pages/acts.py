"""What a reader does between two blocks: in the browser, with a printed number, by waiting."""

import time
import urllib.request
from collections.abc import Callable

from tests.pages.reader import Reader

SECONDS = 180

PLACE = """
import uuid
from orders.models import Order
from orders.submission import Customer, Line, place_order
order, _ = place_order(
    Customer("Ada", "ada@example.org", "1 Mill Lane"), [Line("SKU-001", {quantity})],
    submission_key=uuid.uuid4().hex, source=Order.Source.SHOP,
)
print(order.number)
"""
STATE = """
from workers.models import Step
print(Step.objects.get(process_id={process}, name="{step}").state)
"""
DEFERRED = """
from workers.models import Step
print(Step.objects.filter(process_id={process}, deferral__isnull=False).exists())
"""
ORDER_S = """
from orders.models import Order
order = Order.objects.select_related("process").get(number={number})
print(order.process_id, order.process.state)
"""


def until(reader: Reader, source: str, wanted: str) -> None:
    """Ask until the answer is the wanted one."""
    end = time.monotonic() + SECONDS
    while (said := reader.python(source).strip()) != wanted:
        assert time.monotonic() < end, f"still {said}, not {wanted}, after {SECONDS} s"
        time.sleep(0.5)


def order_something_small_and_something_large(reader: Reader) -> None:
    first, second = (int(reader.python(PLACE.format(quantity=number))) for number in (1, 150))
    assert (first, second) == (1, 2)
    process = reader.python(ORDER_S.format(number=first)).split()[0]
    until(reader, ORDER_S.format(number=first), f"{process} processed")
    process = reader.python(ORDER_S.format(number=second)).split()[0]
    until(reader, DEFERRED.format(process=process), "True")


def take_the_printed_number(reader: Reader) -> None:
    reader.replace["NUMBER"] = reader.said.split()[-1]


def wait_for_the_question(reader: Reader) -> None:
    until(reader, DEFERRED.format(process=reader.replace["NUMBER"]), "True")


def see_the_trip_processed(reader: Reader) -> None:
    number = reader.replace["NUMBER"]
    until(reader, STATE.format(process=number, step="tickets"), "processed")


def wait_for_the_log(command: str, words: str) -> Callable[[Reader], None]:
    def wait(reader: Reader) -> None:
        end = time.monotonic() + SECONDS
        while words not in reader.terminal.log(command):
            assert time.monotonic() < end, reader.terminal.log(command)
            reader.terminal.assert_alive(command)
            time.sleep(0.5)

    return wait


def see_the_site(host: str) -> Callable[[Reader], None]:
    """Ask as the proxy does that ends TLS."""

    def look(reader: Reader) -> None:
        port = reader.replace["gunicorn sasproject.wsgi"].rpartition(":")[2]
        for path in ("/livez", "/readyz", "/", "/static/orders/shop.css"):
            headers = {"Host": host, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
            asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert answer.status == 200, path

    return look
