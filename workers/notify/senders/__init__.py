"""Senders of status messages: one file per kind of sink.

A sender returns once the message has arrived.  It does not use the database, so that it may run
in any thread.
"""

from workers.notify.senders.delivery import Answer, NotSent, StatusMessage, Undelivered

__all__ = ["Answer", "NotSent", "StatusMessage", "Undelivered"]
