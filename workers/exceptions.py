"""The engine's exceptions.

    SASError
    ├── WorkflowError          a definition that cannot work; refused at start-up
    │   ├── UnknownWorkflow    no definition of that name and version in this code
    │   │   └── UnknownStep    no step of that name: it was renamed or removed
    │   └── UnknownAgent       no agent of that name in this code
    ├── StateError             a request that the state forbids
    ├── AlreadySubmitted       a submission key that another process holds
    ├── BadText                a text that cannot be stored, or is too long
    ├── BadToken               a callback token that is not ours, or no longer valid
    ├── BadSignature           a webhook that its provider did not sign, or signed long ago
    ├── NoSecret               the secret to check a provider's webhooks is missing
    ├── WebhookRefused         a genuine webhook that cannot be taken
    ├── MissingSpec            a step names a spec that no row has
    ├── MessageError           bytes that are no message of ours
    ├── BrokerRefused          the broker did not take a message within its time
    ├── DeadlinePassed         the time of a claim is over: stop, send no reply
    └── Fault                  what an agent answers instead of a result
        ├── Unavailable        service not reached or overloaded: parked, no failure counted
        ├── Transient          may pass: counted, tried again
        ├── Permanent          will not pass: final
        └── Refused            a business answer, "no": what was done is undone, no alert

A lost race is a return value and never an error.  Faults do not cross the broker as
exceptions: they travel as fields of a reply.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from django.db import InterfaceError, OperationalError

#: A host as psycopg lists it after trying several.
_TRIED = re.compile(r"^- host: '([^'\n]*)', port: '?(\d*)", re.MULTILINE)


def in_a_line(error: BaseException, longest: int | None = None) -> str:
    """Return an exception for people: its class, and its text, if any."""
    text = str(error)[:longest]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _or_use(name: object, registered: Sequence[str]) -> str:
    """Return the rest of a remedy that names what is registered under almost that name."""
    near = get_close_matches(str(name), registered, n=3)
    return f", or use {' or '.join(near)}" if near else ""


class SASError(Exception):
    """The base class; never raised itself."""


class WorkflowError(SASError):
    """A workflow or agent is declared in a way that cannot work; the text says what to change."""


class UnknownWorkflow(WorkflowError):
    """This code has no workflow of that name and version."""

    def __init__(
        self, name: str, version: int | None = None, registered: Sequence[str] = ()
    ) -> None:
        label = name if version is None else f"{name} version {version}"
        #: The unknown definition, as alerts name it.
        self.definition = f"workflow:{name}:{version}"
        #: The parameters of its alert.
        self.params = {"says": ["workflow"], "name": name, "version": version}
        super().__init__(
            f"No workflow {label} is registered. Register it in a workflows module"
            f"{_or_use(name, registered)}."
        )


class UnknownStep(UnknownWorkflow):
    """This code's workflow of that version has no step of that name: it was renamed or removed."""

    def __init__(self, name: str, version: int, step: str) -> None:
        super().__init__(name, version)
        self.params = {"says": ["step"], "name": name, "version": version, "missing": step}
        self.args = (
            f"Workflow {name} version {version} has no step {step} in this code. Give the step its "
            "name again, and make the change a new version.",
        )


class UnknownAgent(WorkflowError):
    """This code has no agent of that name."""

    def __init__(self, name: str, registered: Sequence[str] = ()) -> None:
        self.name = name
        #: The unknown definition, as alerts name it.
        self.definition = f"agent:{name}"
        #: The parameters of its alert.
        self.params = {"says": ["agent"], "name": name}
        super().__init__(
            f"No agent {name!r} is registered. Register it in an agents module"
            f"{_or_use(name, registered)}."
        )


class StateError(SASError):
    """The state of a process or step forbids the request; nothing was changed.

    ``code`` and ``params`` are stored, for ``rules.refusals`` to render later.
    """

    def __init__(
        self, message: str, *, code: str = "other", params: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.params = dict(params) if params is not None else {"text": message}


class AlreadySubmitted(SASError):
    """The submission key is that of ``process``, which still holds it; nothing was submitted."""

    def __init__(self, process: Any) -> None:
        super().__init__(
            f"submission_key must be free, got that of process {process.pk}, which is"
            f" {process.state}. Use that process, or give another key."
        )
        self.process = process


class BadText(SASError, ValueError):
    """A text is too long, or has NUL or a lone surrogate; nothing was changed."""


class BadToken(SASError):
    """A callback token is not ours, or its step was undone; nothing was changed."""


class BadSignature(SASError):
    """A webhook is not signed by its provider, or was signed long ago; nothing was stored."""


class NoSecret(SASError):
    """A provider's webhooks cannot be checked: its secret is missing or malformed."""


class WebhookRefused(SASError):
    """A genuine webhook is not taken, now or ever; the text says why.  Nothing was stored."""


class MissingSpec(SASError):
    """Steps name specs that no row has: rows were deleted by hand, or restored in part."""

    def __init__(self, digests: Sequence[int]) -> None:
        super().__init__(
            f"workers_spec must have a row for every spec that steps name, got none for {digests}."
            " Restore that table from the backup that has the steps."
        )


class MessageError(SASError):
    """A message does not have the shape its version promises."""


class BrokerRefused(SASError):
    """The broker did not take a message within its time; it may or may not have it.

    ``code``: ``away`` (not reached), ``broken`` (connection lost meanwhile), ``silent`` (no answer
    in time); or, for this message alone, ``no_queue``, ``queue_refused`` (full) and ``failed``.
    """

    def __init__(self, message: str, code: str = "away") -> None:
        super().__init__(message)
        self.code = code


class DeadlinePassed(SASError):
    """The time of a claim is over: its agent stops, sends nothing and changes nothing."""


class Fault(SASError):
    """An agent's answer when it has no result.

    Its type decides what follows.  Whether the effect happened is another matter: with
    ``no_effect`` the agent vouches that it did not; without, it may have.  ``status`` is the HTTP
    status of the service's answer: an agent vouches for those in its ``proof``.
    """

    kind = "transient"
    #: Whether the type alone vouches for that.
    is_proof = False

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retry_after: float | None = None,
        no_effect: bool | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        #: Seconds after which the remote service asked to be called again.
        self.retry_after = retry_after
        #: Whether it proves that nothing happened.
        self.no_effect = self.is_proof if no_effect is None else no_effect
        self.status = status
        #: Calls made before giving up.
        self.tries = 1


#: Codes of ``Unavailable`` that say that our side is at fault, and no single step: what is ours to
#: put right is named in the message.  A step that is refused so while other calls of its agent
#: pass goes to an operator, and is not undone.
CREDENTIALS_REFUSED = "credentials_refused"
ADDRESS_WRONG = "address_wrong"
OF_OUR_SIDE = frozenset({CREDENTIALS_REFUSED, ADDRESS_WRONG})


class Unavailable(Fault):
    """The service was not reached, says "not now" (429, 503), or refuses us: park, count nothing.

    With the code ``credentials_refused`` or ``address_wrong`` our side is at fault.
    """

    kind = "unavailable"


class Transient(Fault):
    """The call failed in a way that may pass: count a failure, try again."""

    kind = "transient"


class Permanent(Fault):
    """The service refused for good: trying again would not help."""

    kind = "permanent"


class Refused(Fault):
    """The service refused for a business reason: a declined card, nothing in stock.

    That is the service's own answer, so by default it proves that nothing happened.  What the
    process has done so far is undone, the submitter is notified, and operators are not.
    """

    kind = "refused"
    is_proof = True


#: Raised while the database is unavailable or cannot be written to: try again later.
AWAY = (OperationalError, InterfaceError)
#: Seconds before another try.
RETRY_SECONDS = 5


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes, as a traceback shows them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


#: PostgreSQL's codes for a statement that waited too long, or for each other's rows.
ROWS_LOCKED = ("55P03", "57014", "40P01")
#: PostgreSQL's code for a missing right.
NOT_PERMITTED = "42501"


def sqlstate(error: BaseException) -> str:
    """Return the PostgreSQL code behind a Django error, or ""."""
    return getattr(error.__cause__, "sqlstate", None) or ""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, for use inside a sentence.

    If psycopg tried several hosts, as for a database with a standby, the line names only the last:
    all are added.
    """
    text = str(error).strip() or type(error).__name__
    first = text.splitlines()[0].rstrip(".")[:300]
    # A default port is empty there.
    hosts = dict.fromkeys(f"{host}:{port or 5432}" for host, port in _TRIED.findall(text))
    return f"{first} (tried: {', '.join(hosts)})" if len(hosts) > 1 else first
