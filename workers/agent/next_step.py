"""Processes of one message go on in the worker that has just called for them, where they are few.

The worker settles their replies itself instead of sending them to a scheduler, and runs the steps
that this makes ready: one message, however many steps they have.  Where an agent has more under
way than one message takes, replies travel, so that those of several messages are settled together.

Only the rows count: should the process die, what it settled stays settled, and what it kept was
claimed and not started, and is sent again like any lost message.
"""

import logging
from collections.abc import Sequence
from time import monotonic

from django.db import InterfaceError, OperationalError

from workers import scheduler
from workers.agent import runner
from workers.definitions import registry
from workers.definitions.agent import margin_seconds
from workers.exceptions import BrokerRefused, first_line
from workers.protocol.messages import Bundle, Reply
from workers.runtime.failpoints import around
from workers.scheduler.bundles import Load
from workers.wire import dispatch

log = logging.getLogger(__name__)


def run(bundle: Bundle) -> None:
    """Run a bundle, and what its replies make ready if it ``settles_here``.

    Raises what ``runner.perform`` raises for the bundle that was given.
    """
    if not bundle.settles_here:
        runner.perform(bundle)
        return
    following = _Following(bundle)
    runner.perform(bundle, following.settle)
    while (kept := following.take()) is not None:
        try:
            runner.perform(kept, following.settle)
        except (OperationalError, InterfaceError) as error:
            # Not the message's fault: it must not come again for this.
            log.warning("kept_bundle_sent", extra={"reason": first_line(error)})
            _send_kept(kept)


class _Following:
    """What a message leads to in this process.

    Celery counts the soft limit once, from the message's acceptance.  A bundle of the same
    timeout that starts a moment later is still ended by it after its guard and before its own
    complete-by; one that would start later, or has another timeout, is sent.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._queue = registry.agent(bundle.agent).queue
        self._timeout = bundle.timeout_seconds
        self._until = monotonic() + margin_seconds(bundle.timeout_seconds) / 2
        self._kept: Bundle | None = None

    def settle(self, replies: Sequence[Reply]) -> None:
        """Settle replies, keep one bundle of what they make ready, and send the others."""
        scheduler.settle(replies, forward=lambda taken: scheduler.send(taken, self._keep))

    def take(self) -> Bundle | None:
        kept, self._kept = self._kept, None
        return kept

    @around("next_step.keep")
    def _keep(self, load: Load) -> None:
        if self._kept is not None or not load.bundles or monotonic() > self._until:
            return
        for place, (bundle, _) in enumerate(load.bundles):
            if self._may_run_here(bundle):
                self._kept = bundle
                del load.bundles[place]
                return

    def _may_run_here(self, bundle: Bundle) -> bool:
        agent = registry.agent(bundle.agent)
        return (
            bundle.settles_here
            and agent.queue == self._queue
            and bundle.timeout_seconds == self._timeout
            and not (agent.is_local or agent.is_serial)
        )


def _send_kept(bundle: Bundle) -> None:
    try:
        dispatch.send_bundle(bundle)
    except BrokerRefused as error:
        # Sent again like what is lost.
        log.warning("kept_bundle_refused", extra={"reason": str(error)})
