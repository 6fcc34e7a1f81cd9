"""Where an operator came from, and goes back to once a verb is done."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from workers.desk.admin import subjects
from workers.models import Process

#: The parameter of links to verbs that names the page of the link: ``?from=subject``.
FROM, SUBJECT, WAITING = "from", "subject", "waiting"


@dataclass(frozen=True, slots=True)
class Place:
    """A page to go back to, and those above it: (name, URL), the page itself last."""

    crumbs: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return self.crumbs[-1][0]

    @property
    def url(self) -> str:
        return self.crumbs[-1][1]


def of(request: HttpRequest, process: Process) -> Place:
    """Return the page whose link led to a verb of ``process``.

    Returns only pages of this site, whatever the URL says.
    """
    origin = request.GET.get(FROM)
    if origin == WAITING:
        return Place(((_("Waiting for somebody"), reverse("admin:workers_process_waiting")),))
    subject_url = subjects.pages([process.pk]).get(process.pk)
    if origin == SUBJECT and subject_url:
        return Place(((process.subject, subject_url),))
    if not request.user.has_perm("workers.view_process"):
        return Place(((_("Home"), reverse("admin:index")),))
    return Place(
        (
            (_("Processes"), reverse("admin:workers_process_changelist")),
            (process.subject, reverse("admin:workers_process_change", args=[process.pk])),
        )
    )
