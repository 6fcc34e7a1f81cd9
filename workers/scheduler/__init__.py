"""The Scheduler: claims pending steps, sends requests to agents, applies replies, carries
out policies, and decides what comes next.

``settlement`` settles replies and sends the steps that they made ready; ``look`` carries on
whatever the rows show as unfinished, whichever process left it.

Invariants: it sends only committed claims; it holds no lock and no transaction while it sends; it
keeps no state between calls, so any number of schedulers may run, and a restarted one continues
from the rows.
"""

from workers.scheduler.look import advance
from workers.scheduler.settlement import begin_here, send, settle, settle_all, take_due

__all__ = ["advance", "begin_here", "send", "settle", "settle_all", "take_due"]
