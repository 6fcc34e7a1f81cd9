"""The state store's tables.

Only ``workers.store`` writes them.  Rules that the database can hold are constraints, and
every background query has a partial index whose condition is the query's own.
"""

from workers.models.alert import Alert
from workers.models.flow import Flow, Hold
from workers.models.health import Gauge, Minute, ProbeResult, Release
from workers.models.incident import Incident
from workers.models.installation import Installation
from workers.models.job import BulkItem, BulkJob
from workers.models.journal import Act, Journal
from workers.models.lease import Lease
from workers.models.live import LiveStep
from workers.models.note import Note
from workers.models.preferences import Preferences
from workers.models.process import Process
from workers.models.route import Delivery, Route
from workers.models.saved_view import SavedView
from workers.models.sink import Sink
from workers.models.step import Step
from workers.models.undo_request import UndoRequest
from workers.models.webhook import ReceivedWebhook
from workers.models.worker import Worker

__all__ = [
    "Act",
    "Alert",
    "BulkItem",
    "BulkJob",
    "Delivery",
    "Flow",
    "Gauge",
    "Hold",
    "Incident",
    "Installation",
    "Journal",
    "Lease",
    "LiveStep",
    "Minute",
    "Note",
    "Preferences",
    "ProbeResult",
    "Process",
    "ReceivedWebhook",
    "Release",
    "Route",
    "SavedView",
    "Sink",
    "Step",
    "UndoRequest",
    "Worker",
]
