"""How a web process runs. gunicorn reads this file by itself where it is started in this folder.

Whatever is given on the command line counts instead.
"""

import json
import logging
import os
from datetime import UTC, datetime
from functools import partial
from typing import Any

from gunicorn import glogging, util
from gunicorn.workers import gthread

# A request that waits for a change of an order takes a thread, and nothing else.
worker_class = "gthread"
threads = 16
# Time without a sign of life from a process; more than the longest wait of a request.
timeout = 60
# Time that requests have to end when the process is stopped; a longer wait is cut off.
graceful_timeout = 25
# Time a connection is kept that nobody uses just now; it takes no thread.
keepalive = 5
# Its default place is shared by everything of this user.
control_socket_disable = True


class JsonLines(logging.Formatter):
    """Writes what gunicorn says of itself as the application's log is written."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one JSON object."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat()
        fields = {"timestamp": at, "level": record.levelname.lower(), "logger": record.name}
        fields["event"] = record.getMessage()
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


class logger_class(glogging.Logger):  # noqa: N801 (gunicorn's name for the setting)
    """Writes gunicorn's lines, unless SAS_LOG_JSON is off, as JSON."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        # Nothing of the project is imported here: a reload (SIGHUP) would keep what it was.
        if os.environ.get("SAS_LOG_JSON", "").lower() not in {"off", "false", "no", "0"}:
            for handler in self.error_log.handlers:
                handler.setFormatter(JsonLines())


# Time that a database has to answer: 5 s more than it gives a statement.
DATABASE_SECONDS = 20

# Time given to who says nothing yet, or leaves a connection open that was closed.
PATIENCE_SECONDS = 0.05


def post_worker_init(worker: Any) -> None:
    """Let half of the threads wait, so that the others answer everybody else at once.

    Imported here: the application is loaded by now.
    """
    from orders.api import waiting
    from sasproject.postgresql.base import DatabaseWrapper

    waiting.places.limit(worker.cfg.threads // 2)
    # Before the first connection is made: a frozen database would keep thread after thread.
    DatabaseWrapper.patience = DATABASE_SECONDS
    # gunicorn has no settings for these: 5 s of a thread for each connection without a request,
    # and 2 s, in the loop that hands out all requests, for each that its client does not close.
    gthread.DEFAULT_WORKER_DATA_TIMEOUT = PATIENCE_SECONDS
    util.close_graceful = partial(util.close_graceful, timeout=PATIENCE_SECONDS)
