"""kombu's filesystem transport, fixed where half a message would end the worker.

kombu 5.7 creates the file of a message under its final name and writes it afterwards; consumers
ignore locks, and one may take the file in between.  The file is then empty, and Celery ends the
worker with a JSONDecodeError.  A sender that is killed in between leaves such a file behind.  Here
a file gets the name that consumers look for only when it is complete.
"""

import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.encoding import str_to_bytes
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Put a message where consumers find it, completely or not at all."""
        # Consumers take messages in the order of their names.
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        path = Path(self.data_folder_out, name)
        part = path.with_name(f"{name}.part")
        try:
            part.write_bytes(str_to_bytes(dumps(payload)))
            part.rename(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ChannelError(f"Cannot add file {str(path)!r} to directory") from error


class Transport(filesystem.Transport):
    Channel = Channel


def folders(run_folder: Path) -> dict[str, Any]:
    """Return kombu's options for messages in files under a folder; create the folder."""
    messages, control = run_folder / "broker" / "messages", run_folder / "broker" / "control"
    for path in (messages, control):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.05,
    }
