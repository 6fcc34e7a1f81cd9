"""Send bundles to agents in the background, while the caller goes on."""

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
from workers.wire import bundle_dispatch, publisher

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """The outcome of sending claims: how many the broker took, and those that it refused."""

    sent: int = 0
    refused: list[Claim] = field(default_factory=list)
    #: Claims without a request to send, and why.
    unbuilt: list[tuple[Claim, Exception]] = field(default_factory=list)


def send(load: Load) -> Outcome:
    """Send bundles and wait until the broker has confirmed all of them.

    Does not use the database.  A refusal for one agent does not affect the others.
    """
    outcome = Outcome(unbuilt=load.unbuilt)
    if not load.bundles:
        return outcome
    published: list[tuple[str | None, Sequence[Claim]]] = []
    refusing: set[str] = set()
    with publisher.batch() as unconfirmed:
        for bundle, claims in load.bundles:
            if bundle.agent in refusing:
                outcome.refused += claims
                continue
            try:
                published.append((bundle_dispatch.send(bundle), claims))
            except BrokerRefused as error:
                _note_refusal(bundle.agent, str(error))
                outcome.refused += claims
                refusing.add(bundle.agent)
    for message_id, claims in published:
        if message_id in unconfirmed:
            _note_refusal(claims[0].agent, str(unconfirmed[message_id]))
            outcome.refused += claims
        else:
            outcome.sent += len(claims)
    return outcome


def _note_refusal(agent: str, reason: str) -> None:
    log.warning("bundle_refused", extra={"agent": agent, "reason": reason})


class BackgroundSender:
    """Sends bundles from a thread, one load after another.

    Calls ``tell`` with the outcome of a load in the caller's thread, before the next load is sent
    or in ``wait``.  An error is logged and stops nothing: claims that did not arrive are sent
    again.
    """

    def __init__(self, tell: Callable[[Outcome], object]) -> None:
        self._tell = tell
        self._under_way: Future[Outcome] | None = None

    def send(self, load: Callable[[], Load]) -> None:
        """Build and send a load in the background, after the outcome of the previous one."""
        self.wait()
        self._under_way = _thread().submit(_load_and_send, load)

    def wait(self) -> None:
        """Wait until the current load is sent, and report its outcome."""
        if self._under_way is None:
            return
        # If this is interrupted, the load stays under way.
        wait([self._under_way])
        future, self._under_way = self._under_way, None
        try:
            self._tell(future.result())
        except Exception:
            log.exception("background_send_failed")


def _load_and_send(load: Callable[[], Load]) -> Outcome:
    # A workflow's request builder may use the database, on this thread's own connection.
    with db_connections.kept():
        return send(load())


@per_process
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="sender", initializer=block_soft_limit)
