"""Executes a program that the kernel ends when the stack dies, however the stack dies.

Run as a file by a bare interpreter: `launch.py <stack's process id> <program> [arguments]`.
A pre-exec hook in the stack itself would do the same, but may deadlock: the stack has threads, and
a fork copies the locks that they hold.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program = int(sys.argv[1]), sys.argv[2]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The stack may have died before the line above: then no signal would come.
        if os.getppid() != parent:
            sys.exit("the stack is gone")
    os.execv(program, sys.argv[2:])  # noqa: S606 (its purpose)


if __name__ == "__main__":
    main()
