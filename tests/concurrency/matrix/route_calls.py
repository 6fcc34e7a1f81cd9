"""How verbs of relays are called: those that tell submitters, and those that tell routes."""

from datetime import timedelta
from uuid import uuid4

from tests.concurrency.matrix import desk_scenes, order_scenes
from tests.concurrency.matrix.call import ANN, Call
from tests.concurrency.matrix.scene import NOW, Scene
from workers.desk.models import Route
from workers.desk.store import deliveries, delivery_plans, routes
from workers.store import sinks

PROBLEM = {"code": "late", "params": {}}


def _sink(scene: Scene) -> sinks.ClaimedSink:
    """Return the relay's claim of the sink; one that is over, where there is none."""
    if scene.sink is not None:
        return scene.sink
    until = NOW - timedelta(seconds=30)
    columns = (scene.sink_id, scene.process_id, "queue", "replies.acme.one", "acme", "", 0, 1, 0)
    return sinks.ClaimedSink(*columns, until=until)


def _delivery(scene: Scene) -> deliveries.ClaimedDelivery:
    """Return the relay's claim of a delivery; one that is over, where there is none."""
    if scene.delivery is not None:
        return scene.delivery
    until = NOW - timedelta(seconds=30)
    of_route = ("mail", "ops@example.org", "", "UTC", "")
    columns = (0, uuid4(), scene.route_id, None, "opened", until, 0, *of_route)
    return deliveries.ClaimedDelivery(*columns, until)


def _route(scene: Scene) -> Route:
    return Route(
        pk=scene.route_id or None,
        name="ops",
        kind="mail",
        address="night@example.org",
        time_zone="UTC",
    )


def _save_route(scene: Scene) -> None:
    routes.save(_route(scene), actor=ANN)


CALLS: tuple[Call, ...] = (
    Call("sinks.claim", lambda s: sinks.claim("queue", 10, 60), (order_scenes.submitted,)),
    Call(
        "sinks.told", lambda s: sinks.told([sinks.SinkProgress(_sink(s), 1)]), (order_scenes.told,)
    ),
    Call("sinks.put_off", lambda s: sinks.put_off(_sink(s), 5), (order_scenes.told,)),
    Call("sinks.failed", lambda s: sinks.failed(_sink(s), 5, PROBLEM), (order_scenes.told,)),
    Call("sinks.give_up", lambda s: sinks.give_up(_sink(s), PROBLEM), (order_scenes.told,)),
    Call(
        "sinks.redeliver",
        lambda s: sinks.redeliver(s.sink_id, after=0, actor=ANN),
        (order_scenes.told,),
    ),
    Call("delivery_plans.plan", lambda s: delivery_plans.plan(), (desk_scenes.routed,)),
    Call("deliveries.claim", lambda s: deliveries.claim(10, 60), (desk_scenes.noted,)),
    Call(
        "deliveries.delivered",
        lambda s: deliveries.delivered(_delivery(s), 200, "ok"),
        (desk_scenes.telling,),
    ),
    Call(
        "deliveries.failed",
        lambda s: deliveries.failed(_delivery(s), 5, 500, "oops"),
        (desk_scenes.telling,),
    ),
    Call(
        "deliveries.put_off", lambda s: deliveries.put_off(_delivery(s), 5), (desk_scenes.telling,)
    ),
    Call(
        "deliveries.give_up",
        lambda s: deliveries.give_up(_delivery(s), 410, "gone"),
        (desk_scenes.telling,),
    ),
    Call(
        "deliveries.resend",
        lambda s: deliveries.resend(_delivery(s).id, actor=ANN),
        (desk_scenes.given_up,),
    ),
    Call(
        "deliveries.note_test",
        lambda s: deliveries.note_test(s.route_id, 60, actor=ANN),
        (desk_scenes.routed,),
    ),
    Call("routes.save", _save_route, (desk_scenes.routed,)),
    Call("routes.delete", lambda s: routes.delete(_route(s), actor=ANN), (desk_scenes.noted,)),
    Call("routes.mute", lambda s: routes.mute(_route(s), NOW, actor=ANN), (desk_scenes.routed,)),
)
