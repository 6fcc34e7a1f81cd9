"""How orders come in: by each door as a careful client would, until it knows they are accepted."""

from tests.chaos.doors.direct import DirectDoor
from tests.chaos.doors.door import Door
from tests.chaos.doors.http import HttpDoor
from tests.chaos.doors.queue import QueueDoor

DOORS: dict[str, type[Door]] = {"direct": DirectDoor, "http": HttpDoor, "queue": QueueDoor}

__all__ = ["DOORS", "Door"]
