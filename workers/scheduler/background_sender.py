"""Bundles on their way to their agents, while whoever sends them goes on."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from workers.exceptions import BrokerRefused
from workers.runtime import db_connections
from workers.runtime.per_process import per_process
from workers.runtime.soft_limit import block_soft_limit
from workers.scheduler.bundles import Load
from workers.store.claims.claim_steps import Claim
from workers.wire import dispatch, publisher

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Departed:
    """What became of claims: how many the broker took, and those that it did not."""

    sent: int = 0
    refused: list[Claim] = field(default_factory=list)
    #: Those that there was nothing to send of, and why.
    unbuilt: list[tuple[Claim, Exception]] = field(default_factory=list)


def depart(load: Load) -> Departed:
    """Send bundles and wait for the broker's confirms of all.

    Asks the database nothing.  One agent's trouble is no other agent's.
    """
    departed = Departed(unbuilt=load.unbuilt)
    if not load.bundles:
        return departed
    handed: list[tuple[str | None, Sequence[Claim]]] = []
    refusing: set[str] = set()
    with publisher.batch() as unconfirmed:
        for bundle, claims in load.bundles:
            if bundle.agent in refusing:
                departed.refused += claims
                continue
            try:
                handed.append((dispatch.send_bundle(bundle), claims))
            except BrokerRefused as error:
                _note_refusal(bundle.agent, str(error))
                departed.refused += claims
                refusing.add(bundle.agent)
    for message_id, claims in handed:
        if message_id in unconfirmed:
            _note_refusal(claims[0].agent, str(unconfirmed[message_id]))
            departed.refused += claims
        else:
            departed.sent += len(claims)
    return departed


def _note_refusal(agent: str, reason: str) -> None:
    log.warning("bundle_refused", extra={"agent": agent, "reason": reason})


class Convoy:
    """Bundles that leave from a thread, one lot after the other.

    What became of a lot is told in the thread that sends, before the next one leaves; of the
    last one ``wait`` does so.  What goes wrong with a lot is logged and stops nothing: claims
    that nobody got are sent again.
    """

    def __init__(self, tell: Callable[[Departed], object]) -> None:
        self._tell = tell
        self._under_way: Future[Departed] | None = None

    def send(self, load: Callable[[], Load]) -> None:
        """Have a lot loaded and sent, once the one before has departed and was told of."""
        self.wait()
        self._under_way = _sender().submit(_load_and_depart, load)

    def wait(self) -> None:
        """Wait until what is under way has departed, and tell of it."""
        if self._under_way is None:
            return
        # Interrupted here, it is still under way.
        wait([self._under_way])
        departed, self._under_way = self._under_way, None
        try:
            self._tell(departed.result())
        except Exception:
            log.exception("background_send_failed")


def _load_and_depart(load: Callable[[], Load]) -> Departed:
    # A workflow's builder may ask the database after all, on this thread's own connection.
    with db_connections.kept():
        return depart(load())


@per_process
def _sender() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="sender", initializer=block_soft_limit)
