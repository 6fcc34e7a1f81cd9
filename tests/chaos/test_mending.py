"""What is done about a RabbitMQ that does not survive a fault itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import amqp
import pytest

from tests.chaos.chronicle import Chronicle
from tests.chaos.instances.rabbitmq import BEYOND_REPAIR, RabbitMQ

HANGS = amqp.exceptions.NotFound(
    "failed to perform operation on queue 'q' due to timeout", (50, 10)
)
ABSENT = amqp.exceptions.NotFound("no queue 'q' in vhost '/'", (50, 10))


class Node(RabbitMQ):
    """A node in name only, whose looks find what the test says."""

    def __init__(self, *looks: bool) -> None:
        self.chronicle = Chronicle()
        self.looks = list(looks)
        self.done: list[str] = []

    def _is_whole(self) -> bool:
        return self.looks.pop(0)

    def stop(self) -> None:
        self.done.append("stop")

    def start(self) -> None:
        self.done.append("start")

    def revive(self) -> None:
        self.done.append("revive")


@pytest.mark.parametrize(
    ("looks", "done", "marks"),
    [
        ((True,), [], 0),
        ((False, True), ["stop", "start"], 1),
        ((False, False), ["stop", "start", "revive"], 1),
    ],
)
def test_a_node_is_restarted_and_emptied_only_where_it_must_be(looks, done, marks):
    node = Node(*looks)
    node.mend()
    assert (node.done, node.looks) == (done, [])
    assert [mark.fault for mark in node.chronicle.marks] == [BEYOND_REPAIR] * marks
    assert all(mark.ended is not None for mark in node.chronicle.marks)


@pytest.mark.parametrize(
    ("answer", "is_sound"),
    [
        (None, True),
        (ABSENT, True),
        (HANGS, False),
        (TimeoutError(), False),
        (amqp.exceptions.ResourceLocked("cannot obtain exclusive access", (50, 10)), True),
    ],
    ids=["answers", "gone", "hangs", "silent", "somebody's own"],
)
def test_queue_that_hangs_is_unsound_and_missing_queue_is_sound(answer, is_sound):
    class Channel:
        def queue_declare(self, queue: str, passive: bool) -> Any:
            assert (queue, passive) == ("q", True)
            if answer is not None:
                raise answer
            return SimpleNamespace()

    class Asked(Node):
        @contextmanager
        def channel(self) -> Iterator[Any]:
            yield Channel()

    assert Asked()._answers_for("q") is is_sound
