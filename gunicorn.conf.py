"""How a web process runs. gunicorn reads this file by itself where it is started in this folder.

Whatever is given on the command line counts instead.
"""

from typing import Any

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


def post_worker_init(worker: Any) -> None:
    """Let half of the threads wait, so that the others answer everybody else at once.

    Imported here: the application is loaded by now.
    """
    from orders.api import waiting

    waiting.places.limit(worker.cfg.threads // 2)
