"""`manage.py`: Django's commands, on any terminal or pipe."""

import io
import os
import sys

from django.core.management import execute_from_command_line

from sasproject import loopback


def run(argv: list[str]) -> None:
    """Run a command; exit quietly if its reader closes the pipe (`| head`)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal's encoding lacks are escaped.
            stream.reconfigure(errors="backslashreplace")
    loopback.choose(argv, os.environ)
    try:
        try:
            execute_from_command_line(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes again on exit, and would report an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
