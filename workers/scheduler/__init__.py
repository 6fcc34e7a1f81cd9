"""The Scheduler: claims pending steps, sends requests to agents, applies replies, carries
out policies, and decides what comes next.

``settlement`` settles replies and sends what they made ready; ``look`` carries on what the rows
say can be carried on, whoever left it.

Invariants: it sends only what is committed; it holds no lock and no transaction while it
sends; it keeps nothing between calls, so any number of schedulers may run, and a restarted
one goes on from the rows.
"""

from workers.scheduler.look import advance
from workers.scheduler.settlement import begin_here, send, settle, settle_all, take_due

__all__ = ["advance", "begin_here", "send", "settle", "settle_all", "take_due"]
