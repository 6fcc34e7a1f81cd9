"""System checks that `manage.py check` alone runs: a process starts without them."""

from django.core.checks import register

from workers.ops.checks.in_flight import check_in_flight
from workers.ops.checks.key_retention import check_key_retention
from workers.ops.checks.outside import check_ping_url

__all__ = ["check_in_flight", "check_key_retention", "check_ping_url"]

register(check_in_flight)
register(check_ping_url)
register(check_key_retention, deploy=True)
