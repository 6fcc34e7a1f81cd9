"""What happens next to an incident by itself."""

from datetime import UTC, datetime, timedelta

import pytest

from workers.desk.rules.next_acts import next_act
from workers.ops.wait_facts import AgentFlow
from workers.rules.breaker import Breaker

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SOON = NOW + timedelta(seconds=15)
OPEN = Breaker(10, NOW, SOON)


@pytest.mark.parametrize(
    ("flow", "text"),
    [
        (AgentFlow(1, breaker=OPEN), "probe in 15 s"),
        (AgentFlow(1, breaker=Breaker(10, NOW, NOW)), "next probe: now"),
        (AgentFlow(1, 1, Breaker(10, NOW, NOW)), "a probe is under way"),
        (
            AgentFlow(1, breaker=Breaker(10, NOW, SOON, "open")),
            "nothing happens until an operator releases the breaker",
        ),
    ],
)
def test_an_open_breaker_says_when_it_asks_the_service_again(flow, text):
    assert next_act("breaker_open", {"about": "a"}, {"a": flow}, NOW) == text
    assert next_act("process_error", {"agent": "a"}, {"a": flow}, NOW) == (
        f"nothing until you act; the breaker of agent a is open: {text}"
    )


@pytest.mark.parametrize("flows", [None, {}, {"a": AgentFlow(1)}, {"b": AgentFlow(1, 0, OPEN)}])
def test_what_waits_for_a_person_says_so(flows):
    assert next_act("process_error", {"agent": "a"}, flows, NOW) == "nothing until you act"
    assert next_act("of_an_app", {}, flows, NOW) == "nothing until you act"


def test_what_goes_on_by_itself_says_how():
    closed = {"a": AgentFlow(1, breaker=Breaker(forced="closed"))}
    assert next_act("process_compensating", {"agent": "a"}, closed, NOW) == (
        "the completed steps are being undone"
    )
