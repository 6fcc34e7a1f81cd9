"""kombu's filesystem transport, mended where half a message would end the worker.

kombu 5.7 makes the file of a message under its final name and writes it afterwards; a consumer
heeds no lock and may take it in between.  It then finds nothing where a message should be, and
Celery ends the worker over the JSONDecodeError.  A sender that is killed in between leaves such
a file behind.  Here a file gets the name that consumers look for once it is whole.
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
        """Put a message where consumers find it, whole or not at all."""
        # Consumers take them in the order of their names.
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        whole = Path(self.data_folder_out, name)
        unfinished = whole.with_name(f"{name}.part")
        try:
            unfinished.write_bytes(str_to_bytes(dumps(payload)))
            unfinished.rename(whole)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise ChannelError(f"Cannot add file {str(whole)!r} to directory") from error


class Transport(filesystem.Transport):
    Channel = Channel


def folders(run_folder: Path) -> dict[str, Any]:
    """Return kombu's options for messages in files under a folder, which is made."""
    messages, control = run_folder / "broker" / "messages", run_folder / "broker" / "control"
    for path in (messages, control):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.05,
    }
