"""Resending deliveries that were given up."""

from workers.desk.store import deliveries
from workers.wire.wake_ups import wake_relay, waking

resend = waking(wake_relay, deliveries.resend)
