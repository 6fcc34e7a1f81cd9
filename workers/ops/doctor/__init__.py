"""Examines an installation: what is wrong, why it matters, what to do.

A probe is a small function that looks at one thing and changes nothing.  An app adds its own
by decorating functions in a module ``doctor``; ``manage.py sas doctor`` runs them all.
"""

from importlib import import_module
from pkgutil import iter_modules

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
    "error",
    "examine",
    "info",
    "ok",
    "probe",
    "probes",
    "registered",
    "warning",
    "worst",
]

# Probes register themselves.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
