"""The submission queue, which a consumer of the shop reads."""

from orders.consumer.inbox import QUEUE
from workers.definitions.sentences import say as _
from workers.ops.doctor.own_queues import OwnQueue, also_look_at

also_look_at(
    OwnQueue(
        QUEUE,
        without=_("No order is taken from the queue."),
        start=_("Run `manage.py consume_submissions` where orders come by message queue."),
        fall_behind=_("Check the database; one consumer takes hundreds of orders a second."),
    )
)
