"""The manual steps of a return."""

from django.utils.translation import gettext_lazy as _

from workers import Agent, Call, Deferred, Effect, register_agent

DAY = 86_400


@register_agent
class AwaitParcel(Agent):
    """Wait for the parcel; the warehouse may report it before or after we ask."""

    name = "returns.await_parcel"
    effect = Effect.NONE
    answer_labels = (_("It is here"), _("It will not come"))

    def run(self, call: Call) -> Deferred:
        return Deferred(
            within_seconds=30 * DAY,
            is_asked_once=True,
            question=f"Has the parcel of order {call.payload['order']} come back?",
            permission="orders.handle_return",
            escalate_after_seconds=14 * DAY,
        )


@register_agent
class Inspect(Agent):
    """Ask an operator whether the returned goods can be sold again."""

    name = "returns.inspect"
    effect = Effect.NONE
    answer_labels = (_("Take it back and refund"), _("Do not take it back"))

    def run(self, call: Call) -> Deferred:
        return Deferred(
            within_seconds=7 * DAY,
            question=f"Take back what came of order {call.payload['order']}?",
            permission="orders.handle_return",
            escalate_after_seconds=2 * DAY,
        )
