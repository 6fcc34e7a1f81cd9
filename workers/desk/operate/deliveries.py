"""Telling operators again who were not told."""

from workers.desk.store import deliveries
from workers.wire.wake_ups import wake_relay, waking

resend = waking(wake_relay, deliveries.resend)
