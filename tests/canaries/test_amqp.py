"""py-amqp 5.4: getting many messages at once, and confirms of a batch."""

import inspect
from collections import defaultdict
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from amqp import spec
from amqp.channel import Channel


def test_many_messages_cannot_be_got_by_one_call():
    """Red when they can: then ``queue_drain._get_at_once`` may go."""
    assert {name for name in dir(Channel) if name.startswith("basic_get")} == {"basic_get"}


def test_a_get_can_be_sent_without_waiting_for_its_answer():
    """``queue_drain._get_at_once`` sends as ``basic_get`` does, and waits for all answers then."""
    channel = MagicMock(spec=Channel)

    Channel.basic_get(channel, "a queue", no_ack=False)

    sent, waited_for = channel.send_method.call_args, channel.send_method.call_args.kwargs["wait"]
    assert sent.args == (spec.Basic.Get, "Bsb", (0, "a queue", False))
    assert waited_for == [spec.Basic.GetOk, spec.Basic.GetEmpty]
    assert sent.kwargs["returns_tuple"] is True
    assert "returns_tuple" in inspect.signature(Channel.wait).parameters


@pytest.mark.parametrize(
    ("event", "heard"), [("basic_ack", [(7, True)]), ("basic_nack", [(7, True)])]
)
def test_confirms_are_heard_of_by_events_of_the_channel(event, heard):
    """``publisher`` counts a batch's confirms by them."""
    confirms: list[tuple[int, bool]] = []
    channel = SimpleNamespace(events=defaultdict(set))
    channel.events[event].add(lambda *facts: confirms.append(facts))

    getattr(Channel, f"_on_{event}")(channel, 7, True)

    assert confirms == heard


def test_a_batch_of_confirms_cannot_be_waited_for():
    """Red when it can: then ``publisher`` need not count them."""
    assert [name for name in dir(Channel) if "confirm" in name and "wait" in name] == []
