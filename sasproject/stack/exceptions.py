"""What the stack tells the person who started it."""


class StackError(Exception):
    """The stack cannot run; the message says why and what to do about it."""
