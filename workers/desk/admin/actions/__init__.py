"""What operators do to one process: each verb is declared in one file, for pages and terminal.

``action.py`` defines verbs, ``page.py`` shows one and carries it out, ``available.py`` finds those
that are possible now, ``dry_run.py`` tries them out.  ``workers.desk.management.process_actions``
carries them out at a terminal.  The rules are the engine's.
"""

from workers.desk.admin import wording
from workers.desk.admin.actions.action import Verb
from workers.desk.admin.actions.answering import Answer
from workers.desk.admin.actions.completing import Complete, Skip
from workers.desk.admin.actions.editing import EditInput
from workers.desk.admin.actions.erasing import Erase
from workers.desk.admin.actions.pausing import Pause, Resume
from workers.desk.admin.actions.postponing import Postpone
from workers.desk.admin.actions.redoing import Redo
from workers.desk.admin.actions.renewing import BeginAgain
from workers.desk.admin.actions.resubmitting import Resubmit
from workers.desk.admin.actions.retiming import Retime
from workers.desk.admin.actions.retrying import Retry
from workers.desk.admin.actions.undoing import Cancel, Compensate

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
