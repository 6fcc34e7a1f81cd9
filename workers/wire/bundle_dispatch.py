"""Send claims to their agents, which the registry knows."""

from workers.definitions import registry
from workers.protocol.messages import Bundle
from workers.runtime.failpoints import around
from workers.wire import dispatch


def send(bundle: Bundle) -> str | None:
    """Send claims to their agent; raise ``BrokerRefused`` if the broker did not take them.

    In a ``publisher.batch``, returns the id by which the batch reports a refusal at its end.

    The soft limit of serial and local agents is the timeout: Celery counts it from acceptance,
    which is before the start, so it never ends later than complete-by.  Calls of local agents run
    one after another, each with its own clock, hence the sum.  Concurrent calls each have their own
    guard; their process takes more of them, so its limit is the latest complete-by that these may
    have.
    """
    agent = registry.agent(bundle.agent)
    if agent.is_local or agent.is_serial:
        limit = bundle.timeout_seconds * len(bundle.requests)
    else:
        limit = dispatch.TAKING_LIMIT_SECONDS
    with around("bundle_dispatch.send"):
        return dispatch.send(
            dispatch.RUN_BUNDLE,
            [bundle.to_wire()],
            agent.queue,
            soft_time_limit=limit,
            time_limit=limit + dispatch.HARD_LIMIT_MARGIN_SECONDS,
        )
