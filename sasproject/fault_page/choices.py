"""The faults that can be chosen for a service, and the words for its current faults."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from sasproject.demo.faults import FAULTS

Text = str | Promise

#: The services that can be broken, and the choice of all of them.
SERVICES = tuple(FAULTS)
EVERY_SERVICE = "all"


class Choice(NamedTuple):
    """A set of faults to choose; None: the demo's own mixture."""

    label: Text
    faults: Mapping[str, Any] | None


CHOICES: dict[str, Choice] = {
    "none": Choice(lazy("works without a fault"), {}),
    "mixed": Choice(lazy("a little of everything, as the demo begins"), None),
    "down": Choice(lazy("is down: 503 to every call"), {"down": True}),
    "errors": Choice(lazy("answers half of the calls with 500"),
                     {"error_rate": 0.5, "error_status": 500}),
    "slow": Choice(lazy("takes 3 s for every call"), {"latency_seconds": 3}),
    "silent": Choice(lazy("never answers half of the calls"), {"hang_rate": 0.5}),
    "dropped": Choice(lazy("does it, then drops half of the answers"),
                      {"drop_after_effect_rate": 0.5}),
    "garbage": Choice(lazy("does it, then answers half with garbage"), {"garbage_rate": 0.5}),
    "lies": Choice(lazy("does it, then says for half that it did not"), {"lie_rate": 0.5}),
    "refuses": Choice(lazy("refuses every second order"), {"fail_every": 2, "error_status": 422}),
}  # fmt: skip

#: Each switch of the sandbox in words; ``share`` is a rate as a percentage.
SWITCHES: dict[str, Text] = {
    "down": lazy("503 to every call"),
    "error_rate": lazy("%(share)s of the calls answered with %(status)s"),
    "latency_seconds": lazy("%(value)s s for every call"),
    "hang_rate": lazy("%(share)s of the calls never answered"),
    "hang_every": lazy("no answer for orders whose number divides by %(value)s"),
    "drop_after_effect_rate": lazy("%(share)s done, their answers dropped"),
    "garbage_rate": lazy("%(share)s done, their answers garbage"),
    "lie_rate": lazy("%(share)s done, their answers say that they were not"),
    "duplicate_rate": lazy("%(share)s of the calls processed twice"),
    "fail_every": lazy("%(status)s to orders whose number divides by %(value)s"),
}
#: The sandbox's default statuses.
STATUSES = {"error_rate": 503, "fail_every": 500}


def faults_of(choice: str, service: str) -> dict[str, Any]:
    """Return the faults of a choice for a service."""
    faults = CHOICES[choice].faults
    return dict(FAULTS[service] if faults is None else faults)


def in_words(faults: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each of a service's faults; none: it works."""
    return [
        str(text)
        % {
            "value": faults[switch],
            "share": _("%(percent)s%%") % {"percent": f"{100 * faults[switch]:g}"},
            "status": faults.get("error_status", STATUSES.get(switch)),
        }
        for switch, text in SWITCHES.items()
        if faults.get(switch)
    ]
