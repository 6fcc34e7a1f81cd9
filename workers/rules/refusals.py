"""Refusals of operators' commands: a code with its parameters, and the text of each.

A refusal is stored as its code and parameters; the text is made when it is read, in the reader's
language.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from workers.definitions.sentences import in_words, say_names
from workers.exceptions import StateError

TEXTS: Mapping[str, Any] = {
    "no_process": _("There is no process %(process)s."),
    "moved": _("%(subject)s has moved since the page was opened. Look again."),
    "nothing_in_error": _(
        "%(subject)s is %(state)s, and no step of it is in error: there is nothing to resubmit."
    ),
    "outcome_unknown": _(
        "Nobody knows whether %(steps)s happened. Find out: complete the step by hand if it did, "
        "or say that nothing happened to have it called again."
    ),
    "not_skipped": _("Step %(step)s is %(state)s: only a skipped step is done again."),
    "nothing_left_out": _("%(subject)s: no optional step of it failed and was skipped."),
    "redo_too_late": _(
        "%(subject)s is %(state)s. A skipped step is done again while its process goes forward, or "
        "once it is processed."
    ),
    "erased": _(
        "The personal data of %(subject)s were erased: no agent may be given what stands in their "
        "place."
    ),
    "erased_already": _("The personal data of %(subject)s were erased already."),
    "erase_not_ended": _(
        "%(subject)s is %(state)s and may still need its personal data. Erase them once it has "
        "ended."
    ),
    "erase_reason": _("The reason must not name the person: it is kept. Leave that out."),
    "erase_nothing_declared": _(
        "%(workflow)s declares nothing personal of %(subject)s, so nobody can say what to erase. "
        "Declare it (personal=...), deploy, and erase again."
    ),
    "erase_forbidden": _(
        "This login may not change what is erased (%(error)s). Run `manage.py sas erase` as the "
        "owner of the database, or grant it."
    ),
    "condition_was_false": _(
        "Step %(step)s was skipped because its condition was false: it is not wanted."
    ),
    "may_happen_twice": _(
        "Nobody knows whether step %(step)s happened: done again it may happen twice. Find out, or "
        "say that it may happen twice."
    ),
    "redo_undoes_first": _(
        "Nobody knows whether step %(step)s happened, and it can be undone: begin again from it, "
        "and it is undone first."
    ),
    "done_by_hand": _(
        "%(steps)s undoes what a person did, and no service can do that. Undo it by hand, then "
        "complete the step."
    ),
    "nothing_to_pause": _("%(subject)s is %(state)s: nothing to pause."),
    "paused_already": _("%(subject)s is paused already."),
    "not_paused": _("%(subject)s is not paused."),
    "step_not_resting": _("Step %(step)s is %(state)s, not waiting to be tried again."),
    "step_due": _("Step %(step)s is due already; it waits for room at its agent."),
    "step_not_pending": _("Step %(step)s is %(state)s: only a pending step can be postponed."),
    "step_postponed_already": _("Step %(step)s waits until %(until)s already."),
    "step_postponed_too_far": _(
        "A step is postponed to a time from now to %(latest)s, got %(until)s."
    ),
    "nothing_rests": _("%(subject)s: no step of it waits to be tried again."),
    "nothing_to_undo": _("%(subject)s is %(state)s: there is nothing to undo."),
    "undone_already": _("%(subject)s is being undone already."),
    "past_no_return": _(
        "%(subject)s is past its point of no return (%(steps)s are processed): it cannot be undone."
    ),
    "two_persons": _(
        "%(subject)s is worth %(amount)s, more than %(limit)s: this takes two persons. Ask "
        "for it on its page in the admin, and have somebody else approve it."
    ),
    "two_persons_unknown": _(
        "Nobody can say what %(subject)s is worth: this takes two persons. Ask for it on its "
        "page in the admin, and have somebody else approve it."
    ),
    "no_undo_request": _("There is no request %(request)s for approval."),
    "undo_asked": _(
        "%(actor)s has asked for that already: request %(request)s waits for a second person."
    ),
    "undo_decided": _("Request %(request)s has been decided by %(actor)s already."),
    "undo_own": _("Request %(request)s is your own: somebody else decides on it."),
    "undo_expired": _(
        "Request %(request)s was made more than %(hours)s hours ago. Ask again if it is still "
        "wanted."
    ),
    "undo_moved": _(
        "%(subject)s has moved since it was asked for. Look again, and ask again if it is still "
        "wanted."
    ),
    "job_failed": _(
        "The verb failed on this process (%(error)s), and nothing was changed. Look into the log of"
        " the worker."
    ),
    "answer_kept": _(
        "Step %(step)s has another answer already, which %(actor)s gave at %(at)s and which is "
        "kept until the step asks."
    ),
    "answer_accepted": _("Step %(step)s was accepted by %(actor)s at %(at)s."),
    "answer_declined": _("Step %(step)s was declined by %(actor)s at %(at)s."),
    "never_asked": _(
        "Nobody was asked about step %(step)s: %(actor)s ended it as processed at %(at)s."
    ),
    "asks_nobody": _(
        "Step %(step)s is %(state)s and has asked nobody: it takes no answer. Wait for its agent "
        "or service, or complete the step by hand once nobody works on it."
    ),
    "answer_unwanted": _("Step %(step)s is %(state)s and takes no such answer."),
    "no_job": _("There is no job %(job)s."),
    "job_forbids": _("Job %(job)s is %(state)s: it cannot %(act)s."),
}


def refused(code: str, **params: Any) -> StateError:
    """Return the refusal with this code, for the caller to raise."""
    return StateError(text_of(code, params), code=code, params=params)


def text_of(code: str, params: Mapping[str, Any]) -> str:
    """Return the text of a refusal; if its code is unknown, the text it was stored with."""
    template = TEXTS.get(code)
    if template is None:
        return str(params.get("text", code))
    return str(template % {name: _in_words(value) for name, value in params.items()})


def _in_words(value: Any) -> Any:
    return in_words(say_names(value)) if isinstance(value, list) else value
