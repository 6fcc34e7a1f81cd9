"""Canaries of what the engine patches, replaces or reaches into in its libraries.

Each names the version that it was written for, and is red in two cases: a newer version has moved
what the engine relies on, so the patch must be mended; or it can do the thing itself, so the patch
may go.  The mended transports have theirs beside their own tests
(``tests/integration/test_redis_transport.py`` and ``test_filesystem_transport.py``), the start
without mingle in ``tests/integration/test_worker_start.py``.
"""
