"""How each verb of the store is called in a scene, and the scenes in which it has work."""

from tests.concurrency.matrix import operator_calls, order_calls, route_calls, upkeep_calls
from tests.concurrency.matrix.call import Call

CALLS: tuple[Call, ...] = (
    *operator_calls.CALLS,
    *order_calls.CALLS,
    *upkeep_calls.CALLS,
    *route_calls.CALLS,
)
