"""The engine's settings: every ``SAS_*`` name, its type, default and bounds, in one place.

Values are read when used, so that a test can override them: from Django's settings, else
from the environment.  The system check ``workers.E001`` refuses a wrong value,
``workers.E002`` an unknown name.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import nan
from typing import Any, overload
from urllib.parse import urlsplit

from django.conf import settings

_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?$")


class BadSetting(ValueError):
    """A ``SAS_*`` setting has a value that cannot be used; the text says which, and what could."""


def variable(name: str) -> str | None:
    """Return an environment variable; an empty one counts as not set.

    ``NAME=`` is how environment files of Docker and systemd leave a variable out.
    """
    return os.environ.get(name) or None


def given() -> dict[str, Any]:
    """Return every ``SAS_*`` setting that is set, with its value."""
    variables = {name for name in os.environ if variable(name) and not _is_service_link(name)}
    names = {*dir(settings), *variables}
    return {name: look_up(name, None) for name in sorted(names) if name.startswith("SAS_")}


def _is_service_link(name: str) -> bool:
    """Say whether Kubernetes set a variable for a Service, such as ``sas`` or ``sas-web``."""
    if name.endswith("_PORT"):
        return os.environ[name].isdigit() or "://" in os.environ[name]
    return bool(_SERVICE_LINK.search(name))


def look_up(name: str, default: Any) -> Any:
    """Return a setting's raw value from Django's settings, else from the environment."""
    try:
        return getattr(settings, name)
    except AttributeError:
        value = variable(name)
        return default if value is None else value


@dataclass
class Number:
    """A numeric setting with inclusive bounds, named after its attribute."""

    default: float
    low: float
    high: float
    help: str
    name: str = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.name = f"SAS_{attribute.upper()}"

    @overload
    def __get__(self, instance: None, owner: type) -> "Number": ...
    @overload
    def __get__(self, instance: object, owner: type) -> float: ...
    def __get__(self, instance: object | None, owner: type) -> "float | Number":
        if instance is None:
            return self
        return self.read(look_up(self.name, self.default))

    def read(self, value: Any) -> float:
        """Return ``value`` as a number within bounds; raise ``BadSetting`` otherwise."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = nan
        if not self.low <= number <= self.high:
            raise BadSetting(
                f"{self.name} must be a number from {self.low:g} to {self.high:g}, got {value!r}."
            )
        return number


class Count(Number):
    """A setting that is a whole number, such as of rows or attempts."""

    def read(self, value: Any) -> float:
        """Return ``value`` as a whole number within bounds; raise ``BadSetting`` otherwise."""
        number = super().read(value)
        if number % 1:
            raise BadSetting(f"{self.name} must be a whole number, got {value!r}.")
        return number


#: Values of a switch, in upper or lower case.
WORDS = {
    **dict.fromkeys(("on", "true", "yes", "1"), True),
    **dict.fromkeys(("off", "false", "no", "0"), False),
}


@dataclass
class Switch:
    """A setting that is on or off, named after its attribute."""

    default: Callable[[], bool]
    help: str
    name: str = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.name = f"SAS_{attribute.upper()}"

    @overload
    def __get__(self, instance: None, owner: type) -> "Switch": ...
    @overload
    def __get__(self, instance: object, owner: type) -> bool: ...
    def __get__(self, instance: object | None, owner: type) -> "bool | Switch":
        if instance is None:
            return self
        value = look_up(self.name, None)
        return self.default() if value is None else self.read(value)

    def read(self, value: Any) -> bool:
        """Return ``value`` as a truth value; raise ``BadSetting`` otherwise."""
        is_on = WORDS.get(str(value).lower())
        if is_on is None:
            raise BadSetting(f"{self.name} must be on or off, got {value!r}.")
        return is_on


@dataclass
class Url:
    """A setting that is an http or https URL, or empty; named after its attribute."""

    help: str
    name: str = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.name = f"SAS_{attribute.upper()}"

    @overload
    def __get__(self, instance: None, owner: type) -> "Url": ...
    @overload
    def __get__(self, instance: object, owner: type) -> str: ...
    def __get__(self, instance: object | None, owner: type) -> "str | Url":
        if instance is None:
            return self
        return self.read(look_up(self.name, ""))

    def read(self, value: Any) -> str:
        """Return ``value`` as a URL; raise ``BadSetting`` otherwise, without quoting secrets."""
        text = str(value or "")
        try:
            parts = urlsplit(text)
            # An invalid port raises.
            is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_url = False
        if text and not is_url:
            raise BadSetting(
                f"{self.name} must be a valid URL that begins with https:// or http://."
            )
        return text


@dataclass
class Text:
    """A setting that is a short line of text, or empty; named after its attribute."""

    help: str
    longest: int
    name: str = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.name = f"SAS_{attribute.upper()}"

    @overload
    def __get__(self, instance: None, owner: type) -> "Text": ...
    @overload
    def __get__(self, instance: object, owner: type) -> str: ...
    def __get__(self, instance: object | None, owner: type) -> "str | Text":
        if instance is None:
            return self
        return self.read(look_up(self.name, ""))

    def read(self, value: Any) -> str:
        """Return ``value`` as a text; raise ``BadSetting`` if it does not fit on a line."""
        text = str(value or "")
        if len(text) > self.longest or not text.isprintable():
            raise BadSetting(
                f"{self.name} must be a line of at most {self.longest} characters, got {value!r}."
            )
        return text


@dataclass
class Amount:
    """A setting that is a sum of money, or none; named after its attribute."""

    help: str
    name: str = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.name = f"SAS_{attribute.upper()}"

    @overload
    def __get__(self, instance: None, owner: type) -> "Amount": ...
    @overload
    def __get__(self, instance: object, owner: type) -> Decimal | None: ...
    def __get__(self, instance: object | None, owner: type) -> "Decimal | Amount | None":
        if instance is None:
            return self
        return self.read(look_up(self.name, None))

    def read(self, value: Any) -> Decimal | None:
        """Return ``value`` as a sum, None if empty; raise ``BadSetting`` otherwise."""
        if value is None or value == "":
            return None
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount < 0:
            raise BadSetting(f"{self.name} must be a sum of 0 or more, got {value!r}.")
        return amount


#: As many days as for ever.
FOR_GOOD_DAYS = 36_500


class Settings:
    """The engine's settings as attributes; durations in seconds."""

    step_timeout_seconds = Count(30, 1, 600, "Time a started claim has, unless its step says")
    failure_threshold = Count(3, 1, 100, "Failures at which a step ends in error")
    undo_threshold = Count(10, 1, 100, "Failures at which an undo step ends in error")
    backoff_base_seconds = Number(2, 0, 3600, "First backoff before a step is tried again")
    backoff_cap_seconds = Number(300, 0, 86_400, "Longest backoff")
    sweep_seconds = Number(2, 0.1, 3600, "Interval of the Supervisor's sweep")
    poll_seconds = Number(5, 0.1, 3600, "Interval of the Scheduler's poll")
    expiry_grace_seconds = Number(1, 0, 60, "Time past complete-by before a step counts as expired")
    breaker_threshold = Count(10, 1, 10_000, "Unavailable answers in a row that open a breaker")
    breaker_seconds = Number(30, 1, 3600, "Time a breaker is open before a probe")
    breaker_alert_seconds = Number(300, 1, 86_400, "Time a breaker is open before an alert")
    fair_seconds = Number(1, 0, 3600, "How far apart the processes of one lane stand in a queue")
    priority_seconds = Number(3600, 0, 31_536_000, "Head start of one level of priority")
    window = Count(400, 1, 100_000, "Claims of one agent in flight, unless the agent says")
    bundle_limit = Count(20, 1, 500, "Calls of one agent in one process, unless the agent says")
    bundle_depth = Count(200, 1, 500, "The same of quick calls, which follow one another")
    claim_batch = Count(200, 1, 5000, "Steps claimed in one transaction")
    settle_batch = Count(400, 1, 5000, "Filed replies settled in one transaction")
    kept_plans = Count(200, 0, 2000, "Statements whose plans a connection keeps; 0 = none")
    sweep_batch = Count(200, 1, 5000, "Expired steps handled in one transaction")
    job_batch = Count(200, 1, 5000, "Processes of a job acted on in one transaction")
    job_limit = Count(100_000, 1, 1_000_000, "Processes of one job at most")
    lease_seconds = Number(5, 1, 600, "Time a sweep is held by one process, for each batch")
    reply_seconds = Number(3, 0.5, 60, "Time the broker has to take a reply before it is filed")
    report_tries = Count(20, 1, 1000, "Failed tries in a row after which a sink is given up")
    report_backoff_base_seconds = Number(10, 0, 3600, "First backoff of a sink")
    report_backoff_cap_seconds = Number(14_400, 0, 604_800, "Longest backoff of a sink")
    webhook_seconds = Number(10, 0.5, 20, "Time a webhook has to answer")
    webhook_private_addresses = Switch(
        lambda: settings.DEBUG, "Whether webhooks may be plain http, and on private addresses"
    )
    keep_journal_days = Number(
        FOR_GOOD_DAYS, 7, FOR_GOOD_DAYS, "Age at which an ended process's journal goes"
    )
    keep_processes_days = Number(
        FOR_GOOD_DAYS, 30, FOR_GOOD_DAYS, "Age at which an ended process goes with its steps"
    )
    keep_resolved_days = Number(90, 7, 36_500, "Age at which what operators dealt with goes")
    two_persons_above = Amount(
        "Worth above which moving money or goods takes two persons; none = one is enough"
    )
    admin_url = Url("Where the admin is, for links in messages to operators")
    ping_url = Url("Called each minute after a sweep, so that silence is noticed outside")
    environment = Text("Name of this installation, such as staging, above every page", 40)
    alive_file = Text("File that a worker, Beat, consumer or watch marks while it lives", 200)
    metrics_token = Text("Bearer token that `/metrics` asks for", 200)
    release = Text("Name of the code that runs, such as a commit; a mark among the figures", 80)
    shutdown_seconds = Number(20, 0, 3600, "Time a stopped worker gives its calls to end")


sas = Settings()


def declared() -> list[Number | Switch | Url | Text | Amount]:
    """Return every setting's declaration, in order."""
    kinds = Number | Switch | Url | Text | Amount
    return [value for value in vars(Settings).values() if isinstance(value, kinds)]
