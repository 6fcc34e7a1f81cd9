"""A message file is there whole or not at all, whenever a consumer looks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection
from kombu.exceptions import ChannelError
from kombu.transport import filesystem as stock

from sasproject import brokers
from workers.celery import filesystem_transport


@contextmanager
def channel_of(folder: Path, transport: Any) -> Iterator[Any]:
    url, options = brokers.configure("", folder)
    with Connection(url, transport_options=options) as connection:
        connection.transport_cls = transport
        yield connection.channel()


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have something happen after a file was made and before it has its contents."""
    write = Path.write_bytes

    def write_slowly(path: Path, data: bytes) -> int:
        path.touch()
        act()
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_slowly)
    monkeypatch.setattr(stock, "lock", lambda *_: act())


def test_a_consumer_that_looks_in_between_finds_nothing_yet(tmp_path, monkeypatch):
    looked = []

    def look() -> None:
        with pytest.raises(Empty):
            channel._get("q")
        looked.append(True)

    with channel_of(tmp_path, filesystem_transport.Transport) as channel:
        between(monkeypatch, look)
        channel._put("q", {"n": 1})
        assert looked == [True]
        assert channel._get("q") == {"n": 1}
        with pytest.raises(Empty):
            channel._get("q")


def test_stock_kombu_would_hand_it_half_a_message(tmp_path, monkeypatch):
    with channel_of(tmp_path, stock.Transport) as channel:
        between(monkeypatch, lambda: channel._get("q"))
        with pytest.raises(ValueError, match="Expecting value"):
            channel._put("q", {"n": 1})


def test_a_sender_that_is_killed_in_between_leaves_no_message(tmp_path, monkeypatch):
    def die() -> None:
        raise KeyboardInterrupt

    with channel_of(tmp_path, filesystem_transport.Transport) as channel:
        with monkeypatch.context() as patched:
            between(patched, die)
            with pytest.raises(KeyboardInterrupt):
                channel._put("q", {"n": 1})
        assert channel._size("q") == 0
        with pytest.raises(Empty):
            channel._get("q")


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    def full() -> None:
        raise OSError(28, "No space left on device")

    with channel_of(tmp_path, filesystem_transport.Transport) as channel:
        between(monkeypatch, full)
        with pytest.raises(ChannelError, match="Cannot add file"):
            channel._put("q", {"n": 1})
        assert list(Path(channel.data_folder_out).iterdir()) == []


def test_messages_come_in_the_order_in_which_they_were_sent(tmp_path, monkeypatch):
    instants = iter([1000.001, 1000.002, 1000.003])
    monkeypatch.setattr(filesystem_transport, "monotonic", lambda: next(instants))
    with channel_of(tmp_path, filesystem_transport.Transport) as channel:
        for number in range(3):
            channel._put("q", {"n": number})
        assert [channel._get("q")["n"] for _ in range(3)] == [0, 1, 2]


def test_the_filesystem_uses_the_mended_transport():
    found = Connection("filesystem://").get_transport_cls()
    assert found is filesystem_transport.Transport
