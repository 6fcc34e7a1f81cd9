"""Places an order that came through the queue, on arrival or when an operator replays it."""

from orders import reasons
from orders.consumer.reading import Submission
from orders.models import ApiClient, Order
from orders.reasons import Refused, because
from orders.submission import Customer, KeyReused, Line, SubmissionRefused, place_order


def accept(submission: Submission, client: ApiClient) -> tuple[Order, bool]:
    """Place the order; return it and whether it is new.

    A key that was used before with the same body, through any door, returns the first order.
    Raises ``Refused``, with nothing stored.
    """
    body = submission.body
    try:
        return place_order(
            Customer(body.customer.name, body.customer.email, body.customer.address),
            [Line(line.sku, line.quantity) for line in body.lines],
            submission_key=submission.key,
            source=Order.Source.QUEUE,
            submitter=client.submitter,
            reference=body.reference,
            # AMQP has a property for it; the HTTP API has a field of the body.
            reply_to=submission.reply_to or body.reply_to,
            callback_url=body.callback_url,
            correlation_id=submission.correlation_id,
            body_hash=submission.fingerprint,
        )
    except SubmissionRefused as refused:
        raise Refused(reasons.of_fields(refused.errors)) from None
    except KeyReused as reused:
        raise Refused([because("message_id", str(reused))]) from None
