"""Probes of the shop: open dead letters, well-known passwords, and the mail server's timeout."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth import get_user_model

from orders.models import DeadLetter
from workers.conf import sas
from workers.definitions import registry
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.ops.doctor.finding import Finding, error, info, ok, warning
from workers.ops.doctor.registry import Need, probe

#: Users whose names are their passwords.
DEMO_USERS = ("operator", "viewer")
CONFIRMATION = "confirmation.send"


@probe("shop")
def dead_letters_are_dealt_with() -> Iterable[Finding]:
    """Count the dead letters that nobody has replayed or discarded."""
    count = DeadLetter.objects.filter(state=DeadLetter.State.OPEN).count()
    if count:
        yield warning(
            ngettext("%(n)d dead letter is open", "%(n)d dead letters are open", count),
            _("Each is a message that could not become an order; its sender was told, if known."),
            _("`manage.py dead_letters list`, then replay or discard them."),
        )
    else:
        yield ok(_("no dead letter is open"))


@probe("shop")
def passwords_are_not_well_known() -> Iterable[Finding]:
    """Look for the demonstration's users, whose passwords are in the documentation."""
    users = get_user_model().objects.filter(username__in=DEMO_USERS, is_active=True)
    names = [user.get_username() for user in users if user.check_password(user.get_username())]
    if names and not settings.DEMO_LOGINS:
        yield error(
            _("users with a well-known password: %(names)s", names=", ".join(sorted(names))),
            _("Anyone who has read the documentation can log in as an operator."),
            _("Delete them, or `manage.py changepassword NAME`."),
        )
    elif names:
        yield info(
            _("users with a well-known password: %(names)s", names=", ".join(sorted(names))),
            _("For the demo."),
        )


@probe("shop", needs=Need.NOTHING)
def mail_ends_before_its_step() -> Iterable[Finding]:
    """Compare the mail server's timeout with that of the step that sends the mail."""
    limit = getattr(settings, "EMAIL_TIMEOUT", None)
    timeouts = [
        spec.timeout_seconds or sas.step_timeout_seconds
        for workflow in registry.workflows()
        for spec in workflow.steps
        if spec.agent == CONFIRMATION
    ]
    if timeouts and (limit is None or limit >= min(timeouts)):
        yield warning(
            _(
                "EMAIL_TIMEOUT is %(limit)s, and the step that sends mail has %(seconds)g s",
                limit=limit,
                seconds=min(timeouts),
            ),
            _(
                "A hanging mail server uses up the step's time, and it is unknown whether the"
                " mail was sent."
            ),
            _("Set EMAIL_TIMEOUT to less than %(seconds)g.", seconds=min(timeouts)),
        )
