"""What operators do to one process: each verb is declared once, for pages and terminal.

``action.py`` defines verbs, ``page.py`` shows one and carries it out, ``available.py`` finds those
that are possible now, ``dry_run.py`` tries them out.  ``workers.desk.management.process_actions``
carries them out at a terminal.  The rules are the engine's.
"""

from workers.desk.admin import wording
from workers.desk.admin.actions.action import Verb
from workers.desk.admin.actions.answering import Answer
from workers.desk.admin.actions.editing import EditInput
from workers.desk.admin.actions.of_processes import (
    BeginAgain,
    Cancel,
    Compensate,
    Erase,
    Pause,
    Resubmit,
    Resume,
)
from workers.desk.admin.actions.of_steps import Complete, Postpone, Redo, Retime, Retry, Skip

#: In the order in which a page offers them.
VERBS: tuple[Verb, ...] = (
    Answer(),
    Retry(),
    Resubmit(),
    Redo(),
    Resume(),
    Pause(),
    EditInput(),
    Retime(),
    Postpone(),
    Complete(),
    Skip(),
    BeginAgain(),
    Compensate(),
    Cancel(),
    Erase(),
)
BY_NAME: dict[str, Verb] = {verb.name: verb for verb in VERBS}

for _verb in VERBS:
    wording.register_events(_verb.events)

__all__ = ["BY_NAME", "VERBS", "Verb"]
