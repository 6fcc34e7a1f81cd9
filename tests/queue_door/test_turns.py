"""Senders have their turns: nobody's messages wait for all of somebody else's."""

from orders.consumer import turns
from orders.consumer.message import Message
from orders.consumer.turns import Turns


def message(token: str, body: str = "x", **more: object) -> Message:
    return Message(body.encode(), dict(more), {"token": token} if token else {})


def fill(one: Turns, token: str, times: int) -> None:
    for n in range(times):
        one.append(message(token, f"{token}{n}"))


def taken(one: Turns, times: int | None = None) -> list[str]:
    return [one.popleft().body.decode() for _ in range(len(one) if times is None else times)]


def known(**names: str) -> Turns:
    one = Turns()
    for token, client in names.items():
        one.learn(message(token), client)
    return one


def test_the_next_of_another_sender_comes_after_one_message_not_after_all():
    one = known(a="acme", b="beta")
    fill(one, "a", 100)
    fill(one, "b", 2)

    assert taken(one, 5) == ["a0", "b0", "a1", "b1", "a2"]


def test_each_senders_messages_keep_their_order():
    one = known(a="acme", a2="acme", b="beta")
    for token in ("a", "b", "a2", "b", "a"):
        fill(one, token, 1)
    assert taken(one) == ["a0", "b0", "a20", "b0", "a0"]


def test_made_up_tokens_share_one_turn():
    one = known(b="beta")
    for n in range(100):
        fill(one, f"made-up-{n}-", 1)
    fill(one, "b", 2)

    assert taken(one, 4) == ["made-up-0-0", "b0", "made-up-1-0", "b1"]


def test_what_waits_joins_its_sender_as_soon_as_that_is_proven():
    one = Turns()
    fill(one, "a", 3)
    fill(one, "b", 2)
    first = one.popleft()
    assert first.body == b"a0"

    one.learn(first, "acme")

    assert sorted(taken(one, 2)) == ["a1", "b0"]
    one.clear()
    assert (len(one), one.bytes) == (0, 0)
    fill(one, "x", 2)
    fill(one, "a", 1)
    assert taken(one, 2) == ["x0", "a0"]


def test_the_first_stays_the_first_until_it_is_taken():
    one = known(a="acme", b="beta")
    fill(one, "a", 1)
    first = one[0]
    fill(one, "b", 5)
    assert one[0] is first
    assert one.popleft() is first


def test_bytes_are_counted_and_senders_forgotten_in_time():
    one = Turns()
    one.append(message("a", "12345"))
    assert one.bytes == 5
    one.popleft()
    assert one.bytes == 0

    for n in range(turns.MOST_KNOWN + 10):
        one.learn(message(f"t{n}"), "acme")
    assert len(one._known) == turns.MOST_KNOWN


def test_a_login_that_the_broker_has_not_compared_tells_nobody():
    one = Turns()
    said = Message(b"said", {"user_id": "acme"}, {})
    proven = Message(b"proven", {"user_id": "acme"}, {}, is_user_proven=True)
    one.learn(proven, "acme")
    one.append(said)
    one.append(proven)
    one.append(message("", "other"))
    assert taken(one) == ["said", "proven", "other"]
