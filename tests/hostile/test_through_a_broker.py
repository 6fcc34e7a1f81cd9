"""The whole corpus at a running consumer, by AMQP's bare protocol: it lives, and takes orders."""

import pickle
from typing import Any

import pytest

from tests.hostile import corpus, envelopes
from tests.hostile.corpus import EXECUTED
from tests.queue_door.conftest import door, prepared
from tests.queue_door.sending import QUEUE, channel, publish

__all__ = ["door", "prepared"]

pytestmark = pytest.mark.slow
#: There is a million of everything in the demo's data.
SOLD = {"quantity sold out"}
#: RabbitMQ refuses this itself, to a publisher that does not consume from it.
REFUSED_BEFORE = {"amq.rabbitmq.reply-to"}
#: Serializers that kombu would find for these.
LABELS = ("application/x-python-serialize", "application/x-yaml", "application/x-msgpack")


def cases() -> list[tuple[dict[str, Any], str, str]]:
    """Return how each case is published, with the field and a word of its first reason."""
    found: list[tuple[dict[str, Any], str, str]] = []
    for body, word in corpus.UNREADABLE.values():
        found += [({"body": body}, "body", word)]
        found += [({"body": body, "content_type": label}, "body", word) for label in LABELS]
    found += [({"body": body}, "body", "65536") for body in corpus.OVERSIZED.values()]
    for name, (value, field, word) in corpus.WRONG.items():
        if name not in SOLD:
            found.append(({"body": corpus.text(value)}, field, word))
    # AMQP has no longer keys.
    keys = [key for key in envelopes.KEYS.values() if len(key) <= 255]
    found += [({"key": key, "body": corpus.text(corpus.ORDER)}, "message_id", "") for key in keys]
    for queue in sorted({*envelopes.REPLY_TOS.values()} - REFUSED_BEFORE):
        found.append(({"reply_to": queue, "body": corpus.text(corpus.ORDER)}, "reply_to", ""))
    executed = pickle.dumps(corpus.EXECUTES)
    found.append(({"body": executed, "headers": {"compression": "bzip2"}}, "headers.token", ""))
    return found


@pytest.mark.fault("F29")
@pytest.mark.fault("F30")
@pytest.mark.parametrize("door", ["postgresql+rabbitmq"], indirect=True)
def test_a_running_consumer_outlives_the_corpus(door):
    door.start()
    pid = door.system.processes["consumer"].pid
    sent = cases()
    with channel(door.url) as to:
        publish(to, "before", door.token, body=corpus.ORDER)
        for number, (options, _, _) in enumerate(sent):
            publish(to, **{"key": f"case-{number}", "token": door.token, **options})
        publish(to, "after", door.token, body=corpus.ORDER)
        found = door.when_handled(len(sent) + 2, 120)

        assert found["orders"] == ["before", "after"]
        assert len(found["letters"]) == len(sent)
        # Senders have turns of their own, so a letter is found by its key, but where that is what
        # was wrong.
        letters = {letter["message_id"]: letter for letter in found["letters"]}
        others = (letter for letter in found["letters"] if "case-" not in letter["message_id"])
        for number, (options, field, word) in enumerate(sent):
            letter = next(others) if "key" in options else letters[f"case-{number}"]
            first = letter["reasons"][0]
            assert first["field"] == field, options.get("body", b"")[:80]
            assert word in first["problem"], options.get("body", b"")[:80]
        assert to.queue_declare(QUEUE, passive=True).message_count == 0
    assert door.system.processes["consumer"].pid == pid
    assert door.system.processes["consumer"].poll() is None
    log = door.log()
    for word in ("broker_lost", "database_away", "submission_failed", "Traceback", door.token[14:]):
        assert word not in log
    assert not EXECUTED.exists()
