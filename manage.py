#!/usr/bin/env python
"""Django's command line for the order system."""

import os
import sys
from importlib.util import find_spec


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
    if find_spec("django") is None:
        sys.exit(
            f"Django must be installed for {sys.executable}, and is not. Run `make venv`, then "
            "`source .venv/bin/activate` in every terminal."
        )
    from sasproject import command_line

    command_line.run(sys.argv)


if __name__ == "__main__":
    main()
