"""Telling again who was not told: submitters of processes, and operators of incidents."""

from workers.store import deliveries, sinks
from workers.wire.wake_ups import wake_relay, waking

redeliver = waking(wake_relay, sinks.redeliver)
resend = waking(wake_relay, deliveries.resend)
