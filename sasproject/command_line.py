"""`manage.py`: Django's commands, on whatever terminal or pipe they are typed."""

import io
import os
import sys

from django.core.management import execute_from_command_line

from sasproject import loopback


def run(argv: list[str]) -> None:
    """Run a command; a reader that has seen enough (`| head`) ends it quietly."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks is written as its code.
            stream.reconfigure(errors="backslashreplace")
    loopback.choose(argv, os.environ)
    try:
        try:
            execute_from_command_line(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
