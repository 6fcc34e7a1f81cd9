"""Whether the checks run because somebody asked for them."""

import sys

from django.core.management.commands.check import Command as CheckCommand


def is_asked_for() -> bool:
    """Say whether the command that runs the checks is `check`: Django does not pass it."""
    frame = sys._getframe().f_back
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), CheckCommand):
            return True
        frame = frame.f_back
    return False
