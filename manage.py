#!/usr/bin/env python
"""Django's command line for the order system."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
    from sasproject import command_line

    command_line.run(sys.argv)


if __name__ == "__main__":
    main()
