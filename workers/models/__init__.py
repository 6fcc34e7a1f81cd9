"""The state store's tables.

Only ``workers.store`` writes them.  Rules that the database can hold are constraints, and every
background query has a partial index whose condition is the query's own.
"""

from workers.models.alert import Alert
from workers.models.attribute import Attribute
from workers.models.child_group import Child, ChildGroup
from workers.models.flow import Flow, Hold, LimitedKey
from workers.models.installation import Installation
from workers.models.journal import Act, Journal
from workers.models.lease import Lease
from workers.models.live import LiveStep
from workers.models.process import Process
from workers.models.schedule import Schedule
from workers.models.sink import Sink
from workers.models.spec import Spec
from workers.models.step import Step
from workers.models.undo_request import UndoRequest
from workers.models.webhook import ReceivedWebhook
from workers.models.worker import Worker

__all__ = [
    "Act",
    "Alert",
    "Attribute",
    "Child",
    "ChildGroup",
    "Flow",
    "Hold",
    "Installation",
    "Journal",
    "Lease",
    "LimitedKey",
    "LiveStep",
    "Process",
    "ReceivedWebhook",
    "Schedule",
    "Sink",
    "Spec",
    "Step",
    "UndoRequest",
    "Worker",
]
