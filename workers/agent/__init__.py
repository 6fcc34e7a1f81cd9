"""The Agent: runs one request of a step in a worker, within its complete-by, and replies.

``runner`` calls agents; ``shift`` bounds what one process takes on; ``graceful_shutdown`` and
``dead_children`` deal with the claims of a worker that ends.
"""
