"""The verbs that a user may apply to a process now: links for its page."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.http import HttpRequest

from workers.desk.admin.actions import VERBS, Verb
from workers.desk.admin.actions.action import Target
from workers.desk.admin.actions.answering import Answer
from workers.desk.admin.snapshot import ProcessSnapshot
from workers.desk.admin.wording import Text


@dataclass(frozen=True, slots=True)
class Offer:
    """A link to a verb's page."""

    label: Text
    url: str
    name: str
    is_grave: bool


@dataclass(frozen=True, slots=True)
class Offers:
    """The verbs that may be applied to a process, and to each of its steps by name."""

    process: tuple[Offer, ...]
    steps: dict[str, tuple[Offer, ...]]

    @property
    def answers(self) -> tuple[tuple[str, Offer], ...]:
        """Return the steps that wait for the user's answer, with the offers: they come first."""
        return tuple(
            (step, offer)
            for step, offers in self.steps.items()
            for offer in offers
            if offer.name == Answer.name
        )


def of(
    request: HttpRequest,
    standing: ProcessSnapshot,
    step_names: Collection[str],
    *,
    origin: str = "",
    without: Collection[str] = (),
) -> Offers:
    """Return the verbs both permitted and possible now; ``origin`` names the page of the links.

    ``step_names`` are the steps to offer verbs for.

    ``without`` names verbs that the page handles itself.
    """
    target = Target.of(standing.process, standing.now)
    verbs = [verb for verb in VERBS if verb.name not in without]
    steps = {
        name: tuple(_step_offers(request, verbs, target.at(name), origin)) for name in step_names
    }
    return Offers(
        process=tuple(
            _offer(verb, target, origin)
            for verb in verbs
            if not verb.is_of_step and _is_open(request, verb, target)
        ),
        steps=steps,
    )


def _step_offers(
    request: HttpRequest, verbs: list[Verb], target: Target | None, origin: str
) -> Iterator[Offer]:
    for verb in verbs:
        if target is not None and verb.is_of_step and _is_open(request, verb, target):
            yield _offer(verb, target, origin)


def _is_open(request: HttpRequest, verb: Verb, target: Target) -> bool:
    return request.user.has_perms(verb.permissions_for(target)) and not verb.refusal(target)


def _offer(verb: Verb, target: Target, origin: str) -> Offer:
    return Offer(verb.label, url_of(verb, target, origin), verb.name, verb.is_grave)


def url_of(verb: Verb, target: Target, origin: str = "") -> str:
    """Return the URL of a verb's page; ``origin`` names the page to go back to."""
    args: list[int | str] = [target.process.pk]
    if verb.is_of_step:
        args.append(target.step_name)
    address = verb.address_of(*args)
    return f"{address}?from={origin}" if origin else address
