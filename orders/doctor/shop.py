"""The shop: messages that were no orders, well-known passwords, and the mail server's time."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils.translation import ngettext

from orders.models import DeadLetter
from workers.conf import sas
from workers.definitions import registry
from workers.doctor.finding import Finding, error, info, ok, warning
from workers.doctor.registry import Need, probe

#: Their names are their passwords.
DEMO_USERS = ("operator", "viewer")
CONFIRMATION = "confirmation.send"


@probe("shop")
def dead_letters_are_dealt_with() -> Iterable[Finding]:
    """Count the dead letters that nobody has replayed or discarded."""
    count = DeadLetter.objects.filter(state=DeadLetter.State.OPEN).count()
    if count:
        yield warning(
            ngettext("%(n)d dead letter is open", "%(n)d dead letters are open", count)
            % {"n": count},
            "Each is a message that could not become an order; its sender was told, if known.",
            "`manage.py dead_letters list`, then replay or discard them.",
        )
    else:
        yield ok("no dead letter is open")


@probe("shop")
def passwords_are_not_well_known() -> Iterable[Finding]:
    """Look for the demonstration's users, whose passwords are in the documentation."""
    users = get_user_model().objects.filter(username__in=DEMO_USERS, is_active=True)
    names = [user.get_username() for user in users if user.check_password(user.get_username())]
    if names and not settings.DEMO_LOGINS:
        yield error(
            f"users with a well-known password: {', '.join(sorted(names))}",
            "Whoever has read the documentation can log in as an operator.",
            "Delete them, or `manage.py changepassword NAME`.",
        )
    elif names:
        yield info(f"users with a well-known password: {', '.join(sorted(names))}", "For the demo.")


@probe("shop", needs=Need.NOTHING)
def mail_ends_before_its_step() -> Iterable[Finding]:
    """Compare the mail server's time limit with the time of the step that sends the mail."""
    limit = getattr(settings, "EMAIL_TIMEOUT", None)
    given = [
        spec.timeout_seconds or sas.step_timeout_seconds
        for workflow in registry.workflows()
        for spec in workflow.steps
        if spec.agent == CONFIRMATION
    ]
    if given and (limit is None or limit >= min(given)):
        yield warning(
            f"EMAIL_TIMEOUT is {limit}, and the step that sends mail has {min(given):g} s",
            "A mail server that hangs uses the step's whole time up, and nobody knows whether the "
            "mail left.",
            f"Set EMAIL_TIMEOUT to less than {min(given):g}.",
        )
