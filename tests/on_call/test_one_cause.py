"""One cause is one message, however many orders it stops; and its end is told once."""

from tests.on_call.conftest import route
from tests.toyflow import agents as toy
from workers.client import operations
from workers.client.submission import submit
from workers.desk.models import Incident
from workers.exceptions import Permanent
from workers.models import Alert, Process
from workers.testing import frozen_clock

MANY = 150


def refuse(call: object) -> dict[str, object]:
    raise Permanent("http_400", "answered 400")


def test_one_cause_sends_each_route_one_message_and_tells_its_end_once(wire):
    route("mail", repeat_seconds=60)
    route("hook", "webhook")
    toy.script["toy.alpha"] = refuse
    with frozen_clock() as clock:
        for number in range(MANY):
            submit("toy_line", subject=f"Toy {number}", input={})
        wire.run_until_settled(clock)

        assert Alert.objects.count() == MANY
        incident = Incident.objects.get()
        assert (incident.state, incident.members) == ("open", MANY)
        assert sorted(message.kind for message in wire.told_of_incidents) == ["mail", "webhook"]

        # Somebody takes it: nothing is repeated, however long that lasts.
        Incident.objects.update(state="acknowledged")
        wire.run_for(clock, minutes=3)
        assert len(wire.told_of_incidents) == 2

        toy.script.clear()
        for process in Process.objects.all():
            operations.resubmit(process.pk, actor="operator:ann", reason="mended")
        wire.run_until_settled(clock)
        wire.run_for(clock, minutes=5)

    incident.refresh_from_db()
    assert (incident.state, incident.members) == ("resolved", 0)
    assert [message.subject.partition(":")[0] for message in wire.told_of_incidents[2:]] == [
        "Resolved",
        "Resolved",
    ]
    assert not Alert.objects.filter(acknowledged_by__isnull=False).exists()
