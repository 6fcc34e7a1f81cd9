"""A Django process at which operators act, and services answer late: one act a line."""

import json
import sys
from io import StringIO
from typing import Any

import django

#: What is said of an answer that changed nothing.
IN_VAIN = ("ignored", "repeated")


def main() -> None:
    django.setup()
    from django.core.management import CommandError, call_command
    from django.db import DatabaseError, InterfaceError, close_old_connections

    import workers
    from workers import Refused, StateError

    def act(verb: str, number: int, process: int, step: str, yes: bool) -> str:
        if verb == "event" and yes:
            done = {"told": "by an event"}
            return str(workers.complete_step(process, step, done, actor="service:chaos"))
        if verb == "event":
            no = Refused("declined", "told by an event")
            return str(workers.fail_step(process, step, no, actor="service:chaos"))
        told = StringIO()
        options: dict[str, Any] = {"step": step, "decline": not yes} if verb == "answer" else {}
        call_command("order", verb, str(number), reason="chaos", stdout=told, **options)
        return told.getvalue()

    for line in sys.stdin:
        close_old_connections()
        try:
            told = act(**json.loads(line))
            said = {"refused" if any(word in told for word in IN_VAIN) else "done": told}
        except (CommandError, StateError, DatabaseError, InterfaceError) as error:
            said = {"refused": str(error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
