"""The manual review of a large order."""

from workers import Agent, Call, Deferred, Effect, register_agent

HOUR, DAY = 3600, 86_400


@register_agent
class AskForReview(Agent):
    """Ask an operator; an order without a decision within a day is undone.

    Until then it holds stock that nobody has paid for.
    """

    name = "review.ask"
    effect = Effect.NONE

    def run(self, call: Call) -> Deferred:
        return Deferred(
            within_seconds=DAY,
            is_asked_once=True,
            question=f"Accept order {call.payload['order']} of €{call.payload['amount']}?",
            permission="orders.decide_review",
            escalate_after_seconds=4 * HOUR,
        )
