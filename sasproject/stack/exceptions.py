"""Errors for the person who starts a stack."""


class StackError(Exception):
    """The stack cannot run; the message says why and what to do about it."""
