"""Orders by queue: published until a status says that they were accepted.

A status may be lost with the broker; then the client asks the API for its reference, and
publishes again what is not there.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kombu import Connection, Consumer, Producer, Queue

from tests.chaos.doors.door import AGAIN_SECONDS, Door
from tests.chaos.doors.http import call
from tests.chaos.doors.purchases import Purchase
from tests.chaos.system import CLIENT

SUBMISSIONS = "orders.submissions"
REPLIES = f"replies.{CLIENT}.door"
ASK_SECONDS = 8.0
OPTIONS = {"confirm_publish": True, "read_timeout": 5, "write_timeout": 5, "socket_timeout": 5}


@dataclass(slots=True)
class Waiting:
    purchase: Purchase
    since: float
    ask_at: float


class QueueDoor(Door):
    name = "queue"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._waiting: dict[str, Waiting] = {}
        self._connection: Connection | None = None
        self._consumer: Consumer | None = None
        #: Order number -> sequence number -> the state that this status told.
        self.told: dict[int, dict[int, str]] = {}

    def send(self, purchase: Purchase) -> None:
        now = time.monotonic()
        self._waiting[purchase.key] = Waiting(purchase, now, now + ASK_SECONDS)
        self._publish(purchase)

    def idle(self, seconds: float) -> None:
        self._listen(time.monotonic() + seconds)

    def close(self) -> None:
        super().close()
        self._disconnect()

    def _publish(self, purchase: Purchase) -> None:
        """Publish once; what the broker does not take is published again later."""
        with suppress(Exception):
            self._connect()
            assert self._connection is not None
            Producer(self._connection.default_channel, auto_declare=False).publish(
                json.dumps(purchase.body),
                routing_key=SUBMISSIONS,
                content_type="application/json",
                content_encoding="utf-8",
                message_id=purchase.key,
                reply_to=REPLIES,
                correlation_id=purchase.key,
                headers={"client": CLIENT, "token": self.system.token},
                delivery_mode=2,
                confirm_timeout=5,
                retry=False,
            )
            return
        self._disconnect()

    def _listen(self, until: float) -> None:
        while not self.ended.is_set():
            self._ask_about_silence()
            left = until - time.monotonic()
            if left <= 0:
                return
            try:
                self._connect()
                assert self._connection is not None
                self._connection.drain_events(timeout=min(left, 0.5))
            except TimeoutError:
                continue
            except Exception:
                # Whatever it is that a broken broker causes: a client connects again.
                self._disconnect()
                self.ended.wait(AGAIN_SECONDS)

    def _ask_about_silence(self) -> None:
        now = time.monotonic()
        for waiting in [one for one in self._waiting.values() if now >= one.ask_at]:
            waiting.ask_at = now + ASK_SECONDS
            try:
                path = f"/api/v1/orders?reference={quote(waiting.purchase.key)}"
                found = call(self.system, "GET", path)["orders"]
            except (OSError, ValueError):
                continue
            if found:
                self._accepted(waiting.purchase.key, int(found[0]["number"]))
            else:
                self._publish(waiting.purchase)

    def _on_status(self, body: Any, message: Any) -> None:
        status = json.loads(body) if isinstance(body, str | bytes) else body
        message.ack()
        key = message.properties.get("correlation_id") or status.get("correlation_id", "")
        if status["type"] != "order.status":
            if waiting := self._waiting.pop(key, None):
                self.refuse(waiting.purchase, json.dumps(status["errors"]))
            return
        number = int(status["number"])
        self.told.setdefault(number, {})[int(status["sequence"])] = status["state"]
        self._accepted(key, number)

    def _accepted(self, key: str, number: int) -> None:
        if waiting := self._waiting.pop(key, None):
            self.accept(waiting.purchase, number, waiting.since)

    def _connect(self) -> None:
        if self._connection is not None:
            return
        url = self.system.backend.environment(past_proxies=True)["BROKER_URL"]
        options = OPTIONS if url.startswith("amqp") else {"socket_timeout": 5}
        connection = Connection(url, connect_timeout=3, transport_options=options)
        try:
            connection.connect()
            replies = Queue(REPLIES, durable=True, auto_delete=False)
            consumer = Consumer(connection, [replies], callbacks=[self._on_status], no_ack=False)
            consumer.consume()
            Queue(SUBMISSIONS, durable=True)(connection.default_channel).declare()
        except BaseException:
            with suppress(Exception):
                connection.release()
            raise
        self._connection, self._consumer = connection, consumer

    def _disconnect(self) -> None:
        connection, self._connection, self._consumer = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                connection.release()

    def gaps(self, numbers: list[int], final: tuple[str, ...]) -> list[str]:
        """Return the orders of which not every status came, or not the last one."""
        found = []
        for number in numbers:
            came = self.told.get(number, {})
            last = max(came, default=1)
            if set(came) != set(range(1, last + 1)):
                found.append(f"order {number} has statuses {sorted(came)}")
            elif came[last] not in (*final, "error"):
                found.append(f"order {number} was last told as {came[last]}")
        return found
