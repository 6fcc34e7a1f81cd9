"""The Agent: runs one request of a step in a worker, within its complete-by, and replies.

``runner`` is the role; ``next_step`` lets an order that is alone go on in the same process, and
``graceful_shutdown`` and ``dead_children`` say what becomes of claims whose worker ends.
"""
