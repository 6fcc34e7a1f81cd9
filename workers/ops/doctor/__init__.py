"""Examines an installation: what is wrong, why it matters, what to do.

A probe is a small function that looks at one thing and changes nothing.  An app adds its own
by decorating functions in a module ``doctor``; ``manage.py sas doctor`` runs them all.
"""

from workers.ops.doctor import (
    agents,
    alerts,
    backlog,
    broker,
    database,
    duties,
    files,
    queues,
    settings,
    tables,
    worker_pools,
)
from workers.ops.doctor.finding import Finding, Level, error, info, ok, warning
from workers.ops.doctor.registry import Need, Probe, When, probe, probes, registered
from workers.ops.doctor.run import ProbeFinding, examine, worst

__all__ = [
    "Finding",
    "Level",
    "Need",
    "Probe",
    "ProbeFinding",
    "When",
    "agents",
    "alerts",
    "backlog",
    "broker",
    "database",
    "duties",
    "error",
    "examine",
    "files",
    "info",
    "ok",
    "probe",
    "probes",
    "queues",
    "registered",
    "settings",
    "tables",
    "warning",
    "worker_pools",
    "worst",
]
