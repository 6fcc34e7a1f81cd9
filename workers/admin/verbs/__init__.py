"""What operators do to one process: each verb has a page with a preview and a form.

``verb.py`` says what a verb is, ``page.py`` shows it and carries it out, ``offers.py`` finds
those that are possible now, ``rehearsal.py`` tries them out.  The rules are the engine's.
"""

from workers.admin.verbs.answering import Answer
from workers.admin.verbs.completing import Complete, Skip
from workers.admin.verbs.editing import EditInput
from workers.admin.verbs.pausing import Pause, Resume
from workers.admin.verbs.renewing import BeginAgain
from workers.admin.verbs.resubmitting import Resubmit
from workers.admin.verbs.retiming import Retime
from workers.admin.verbs.retrying import Retry
from workers.admin.verbs.undoing import Cancel, Compensate
from workers.admin.verbs.verb import Verb

#: In the order in which a page offers them.
VERBS: tuple[Verb, ...] = (
    Answer(),
    Retry(),
    Resubmit(),
    Resume(),
    Pause(),
    EditInput(),
    Retime(),
    Complete(),
    Skip(),
    BeginAgain(),
    Compensate(),
    Cancel(),
)
BY_NAME: dict[str, Verb] = {verb.name: verb for verb in VERBS}

__all__ = ["BY_NAME", "VERBS", "Verb"]
