"""The Scheduler: wakes agent processes for due steps, applies replies, carries out policies, and
decides what comes next.

``taking`` claims and starts due steps for the process that calls, and wakes those that may take
some; ``settlement`` settles replies; ``look`` carries on whatever the rows show as unfinished,
whichever process left it.

Invariants: a message owns nothing, so a lost one costs a look; it holds no lock and no transaction
while it sends; it keeps no state between calls, so any number of schedulers may run, and a
restarted one continues from the rows.
"""

from workers.scheduler.look import advance
from workers.scheduler.settlement import settle
from workers.scheduler.taking import requests_of, take_due
from workers.scheduler.waking import wake

__all__ = ["advance", "requests_of", "settle", "take_due", "wake"]
