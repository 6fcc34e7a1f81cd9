"""Take webhooks: a genuine one answers its step, once."""

from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone

from workers.definitions.webhook_provider import Event, Provider
from workers.exceptions import BadToken, MessageError, NoSecret, StateError, WebhookRefused
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import storable
from workers.protocol.webhook_signing import PREFIX
from workers.protocol.webhook_verification import ID, Signed
from workers.rules.external_answers import Outcome
from workers.runtime.failpoints import durable
from workers.store import received_webhooks
from workers.store.operate import record_answers
from workers.wire.wake_ups import wake_scheduler

#: Characters after the prefix.  A shorter secret could be guessed; an empty one, of a missing
#: setting, is known to everybody.
SHORTEST_SECRET = 24


def verify(
    provider: Provider, headers: Mapping[str, str], raw: bytes, now: datetime | None = None
) -> Signed:
    """Check the signature of a webhook over its raw body, before anything reads it.

    ``headers`` are looked up in small letters.  Raises ``BadSignature``, and ``NoSecret`` if
    there is no usable secret.  ``take`` detects repeated webhooks.
    """
    secrets = list(provider.secrets())
    if not secrets or any(len(secret.removeprefix(PREFIX)) < SHORTEST_SECRET for secret in secrets):
        raise NoSecret(
            f"Provider {provider.name} has no secret, or one of fewer than {SHORTEST_SECRET} "
            "characters. Set it where its declaration reads it."
        )
    try:
        return provider.scheme(headers, raw, secrets, now or timezone.now())
    except ValueError as error:
        raise NoSecret(
            f"Provider {provider.name}: {error}. Set the secret as it was given."
        ) from None


def take(provider: Provider, event: Event, now: datetime | None = None) -> Outcome:
    """Apply a genuine event to the step it answers, once for each id.

    The id, what the provider's function writes, and the answer are one transaction.
    ``repeated``: the id is known, or the step has its answer; ``kept``: the step has not asked
    yet; ``ignored``: no step wants it, or no longer.  Raises ``WebhookRefused``, with
    nothing stored, for an event that may be taken later or never.
    """
    if not ID.fullmatch(event.id):
        raise WebhookRefused("Its id must be 1 to 200 printable ASCII characters without spaces.")
    with durable("webhooks.take"):
        if not received_webhooks.remember(provider.name, event.id, now):
            return Outcome.REPEATED
        outcome = _apply(provider, event, now)
    if outcome == Outcome.ACCEPTED:
        wake_scheduler()
    return outcome


def _apply(provider: Provider, event: Event, now: datetime | None) -> Outcome:
    try:
        answer = provider.answers(event)
        if answer is None:
            return Outcome.IGNORED
        if answer.fault is None:
            storable(answer.result)
            body = {"result": answer.result}
        else:
            body = {"fault": FaultRecord.of(answer.fault).to_json()}
        return record_answers.answer(
            answer.process_id,
            answer.step,
            body,
            actor=f"webhook:{provider.name}",
            key=answer.key,
            now=now,
        )
    except BadToken:
        # The call has been undone meanwhile, or is not ours: sending again would not help.
        return Outcome.IGNORED
    except (StateError, MessageError) as error:
        raise WebhookRefused(str(error)) from error
