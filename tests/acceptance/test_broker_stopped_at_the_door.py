"""A thousand orders over HTTP while RabbitMQ is stopped: all accepted, done and told later."""

import json
import shutil
import tempfile
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.acceptance.ledgers import effects
from tests.acceptance.system import System
from tests.chaos.chronicle import Chronicle
from tests.chaos.instances.rabbitmq import RabbitMQ
from tests.chaos.instances.server import NotHere
from tests.programs import until
from tests.services import missing, own_postgres_database

pytestmark = [pytest.mark.slow, pytest.mark.fault("F10", database="PostgreSQL", broker="RabbitMQ")]
ORDERS = 1000
QUEUE = "replies.acme.statuses"


@pytest.fixture
def rabbitmq() -> Iterator[RabbitMQ]:
    folder = Path(tempfile.mkdtemp(prefix="sas-door-"))
    folder.chmod(0o711)
    try:
        server = RabbitMQ(folder, Chronicle())
    except NotHere as error:
        missing(str(error))
    try:
        server.prepare()
        yield server
    finally:
        server.close()
        shutil.rmtree(folder)


def place(web: str, token: str, key: str) -> int:
    """Place an order; return the status of the answer."""
    body = {
        "customer": {"name": "Ann", "email": "ann@example.org", "address": "Street 1"},
        "lines": [{"sku": "SKU-001", "quantity": 1}],
        "reply_to": QUEUE,
    }
    request = urllib.request.Request(
        f"{web}/api/v1/orders",
        json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Idempotency-Key": key,
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(answer.status)


def told(rabbitmq: RabbitMQ) -> dict[str, list[dict[str, object]]]:
    """Return what came to the reply queue, by order; what is read is gone."""
    found = defaultdict(list)
    with rabbitmq.channel() as channel:
        while (message := channel.basic_get(QUEUE, no_ack=True)) is not None:
            status = json.loads(message.body)
            found[status["order_id"]].append(status)
    return found


def test_a_thousand_are_taken_done_and_told(rabbitmq, tmp_path):
    with rabbitmq.channel() as channel:
        channel.queue_declare(QUEUE, durable=True, auto_delete=False)
    with (
        own_postgres_database() as database,
        System(
            tmp_path,
            DATABASE_URL=database,
            BROKER_URL=rabbitmq.url(rabbitmq.port),
            SAS_STEP_TIMEOUT_SECONDS="30",
        ) as system,
    ):
        log = tmp_path / "stack.log"
        system.start("stack", "manage.py", "stack", "--web-port", "0", "--sandbox-port", "0")
        until(lambda: log.exists() and '"ready"' in log.read_text(), 120)
        ready = json.loads(
            next(line for line in log.read_text().splitlines() if line.startswith('{"ready"'))
        )
        token = system.manage("client", "add", "acme").splitlines()[-1]
        system.python(
            "from orders.models import ApiClient;"
            "ApiClient.objects.update(requests_per_minute=100_000)"
        )

        rabbitmq.stop()
        with ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(lambda n: place(ready["web"], token, f"key-{n}"), range(ORDERS))
            )
        assert answers == [201] * ORDERS
        assert system.states()["states"].get("processed", 0) == 0
        rabbitmq.start()

        until(lambda: system.states()["states"] == {"processed": ORDERS}, 300)
        statuses: dict[str, list[dict[str, object]]] = defaultdict(list)

        def is_told() -> bool:
            for order, more in told(rabbitmq).items():
                statuses[order] += more
            ended = [one for one in statuses.values() if one[-1]["state"] == "processed"]
            return len(ended) == ORDERS

        until(is_told, 120)
        for sequence in statuses.values():
            numbers = list(dict.fromkeys(one["sequence"] for one in sequence))
            assert numbers == list(range(1, len(numbers) + 1)), "in order, and without a gap"
        charged = effects(ready["sandbox"], "payment", "charge")
        assert len(charged) == len(set(charged)) == ORDERS
