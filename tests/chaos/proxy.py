"""The network between the system and a server: a TCP proxy on loopback that misbehaves."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from enum import StrEnum
from typing import Any, Self

from tests.chaos.instances.server import HOST

CHUNK = 65_536


class Mode(StrEnum):
    PASS = "pass"
    #: Nobody listens.
    REFUSE = "refuse"
    #: Connections are taken, and nothing passes either way until another mode is set.
    BLACK_HOLE = "black-hole"
    #: Every piece of data is late by ``amount`` seconds.
    DELAY = "delay"
    #: A connection breaks once ``amount`` more bytes have passed to the server.
    CUT = "cut"
    #: Requests arrive; instead of the answer the connection breaks.
    DROP_REPLY = "drop-reply"


class Proxy:
    """One listening port in front of one server.  Every public method is thread-safe."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self._mode = Mode.PASS
        self._amount = 0.0
        self._changed = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    @property
    def mode(self) -> Mode:
        return self._mode

    def set(self, mode: Mode, amount: float = 0.0) -> None:
        """Behave so from now on, towards the connections that exist, too."""
        self._do(self._set(mode, amount))

    def cut(self) -> int:
        """Break every connection; return how many there were."""
        found: int = self._do(self._break_all())
        return found

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._break_all()
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _set(self, mode: Mode, amount: float) -> None:
        was_listening = self._server is not None
        self._mode, self._amount = mode, amount
        self._changed.set()
        self._changed = asyncio.Event()
        if mode is Mode.REFUSE and self._server is not None:
            self._server.close()
            self._server = None
            await self._break_all()
        elif mode is not Mode.REFUSE and not was_listening:
            await self._listen()

    async def _break_all(self) -> int:
        writers, self._open = self._open, set()
        for writer in writers:
            # A reset, not an orderly end.
            writer.transport.abort()
        return len(writers) // 2

    async def _serve(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        # The streams' own callback takes a handler that was cancelled for an error.
        with suppress(asyncio.CancelledError):
            await self._connect(client, back)

    async def _connect(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._open.add(back)
        try:
            await self._until_passing()
            server, forth = await asyncio.open_connection(HOST, self.target)
        except OSError:
            back.transport.abort()
            self._open.discard(back)
            return
        self._open.add(forth)
        budget = [self._amount]
        pumps = [
            asyncio.create_task(self._pump(client, forth, budget, is_reply=False)),
            asyncio.create_task(self._pump(server, back, budget, is_reply=True)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            for writer in (back, forth):
                self._open.discard(writer)
                with suppress(Exception):
                    writer.close()

    async def _until_passing(self) -> None:
        while self._mode is Mode.BLACK_HOLE:
            await self._changed.wait()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        budget: list[float],
        *,
        is_reply: bool,
    ) -> None:
        """Pass data on as the mode of the moment says; return when the connection is over."""
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._until_passing()
                if self._mode is Mode.DELAY:
                    await asyncio.sleep(self._amount)
                if self._mode is Mode.DROP_REPLY and is_reply:
                    writer.transport.abort()
                    return
                if self._mode is Mode.CUT and not is_reply:
                    data, budget[0] = data[: int(budget[0])], budget[0] - len(data)
                    writer.write(data)
                    await writer.drain()
                    if budget[0] <= 0:
                        writer.transport.abort()
                        return
                    continue
                writer.write(data)
                await writer.drain()
