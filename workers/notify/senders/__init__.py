"""What carries status messages: one file for each kind of sink.

A sender returns once the message has arrived.  It touches no table, so that it may run in
any thread.
"""

from workers.notify.senders.delivery import Answer, Letter, NotSent, Undelivered

__all__ = ["Answer", "Letter", "NotSent", "Undelivered"]
