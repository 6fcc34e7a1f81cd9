"""The desk's tables.

Only ``workers.desk.store`` writes them.
"""

from workers.desk.models.health import Gauge, Minute, ProbeResult, Release
from workers.desk.models.incident import Incident
from workers.desk.models.job import BulkItem, BulkJob
from workers.desk.models.note import Note
from workers.desk.models.preferences import Preferences
from workers.desk.models.route import Delivery, Route
from workers.desk.models.saved_view import SavedView

__all__ = [
    "BulkItem",
    "BulkJob",
    "Delivery",
    "Gauge",
    "Incident",
    "Minute",
    "Note",
    "Preferences",
    "ProbeResult",
    "Release",
    "Route",
    "SavedView",
]
