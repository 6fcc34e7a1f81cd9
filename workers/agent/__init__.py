"""The Agent: runs one request of a step in a worker, within its complete-by, and replies.

``runner`` is the role; ``next_step`` goes on with the processes of a small message where they are;
``graceful_shutdown`` and ``dead_children`` say what becomes of claims whose worker ends.
"""
