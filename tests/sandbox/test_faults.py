"""Each fault switch does what it says, once per call it strikes."""

import http.client
import json
import time
from pathlib import Path

import pytest

from orders.sandbox.server import Sandbox
from tests.sandbox.caller import Caller

CHARGE = "/payment/charge"


def test_the_error_rate_answers_503_without_an_effect(caller):
    caller.set_faults("payment", error_rate=1)

    reply = caller.post(CHARGE, "k1", order=1)

    assert (reply.status, reply.body["error"]) == (503, "fault")
    assert caller.effects("payment") == []
    assert caller.struck("payment") == {"error_rate": 1}


def test_the_error_status_can_be_chosen(caller):
    caller.set_faults("payment", error_rate=1, error_status=418)

    assert caller.post(CHARGE, "k1", order=1).status == 418


def test_an_error_rate_strikes_about_its_share(caller):
    caller.set_faults("payment", error_rate=0.3, seed=1)

    statuses = [caller.post(CHARGE, f"k{n}", order=1).status for n in range(100)]

    assert 20 <= statuses.count(503) <= 40
    assert len(caller.effects("payment")) == statuses.count(200) == 100 - statuses.count(503)


def test_a_repeated_call_is_drawn_for_anew(caller):
    caller.set_faults("payment", error_rate=0.5, seed=1)

    statuses = {caller.post(CHARGE, "k1", order=1).status for _ in range(20)}

    assert statuses == {200, 503}
    assert caller.effects("payment") == [("charge", "k1", 1)]


def test_latency_delays_the_answer(caller):
    caller.set_faults("payment", latency_seconds=0.15)

    begun = time.monotonic()
    reply = caller.post(CHARGE, "k1", order=1)

    assert reply.status == 200
    assert time.monotonic() - begun >= 0.15
    assert caller.struck("payment") == {"latency_seconds": 1}


@pytest.mark.parametrize("faults", [{"hang_rate": 1}, {"hang_every": 2}], ids=str)
def test_a_hanging_call_is_never_answered_and_has_no_effect(caller, faults):
    caller.set_faults("payment", **faults)
    impatient = Caller(f"http://{caller.address}", timeout=0.2)

    with pytest.raises(TimeoutError):
        impatient.post(CHARGE, "k1", order=2)

    assert caller.effects("payment") == []
    assert caller.struck("payment") == dict.fromkeys(faults, 1)


def test_hang_every_leaves_other_orders_alone(caller):
    caller.set_faults("payment", hang_every=2)

    assert caller.post(CHARGE, "k1", order=3).status == 200


def test_a_dropped_answer_comes_after_the_effect(caller):
    caller.set_faults("payment", drop_after_effect_rate=1)

    with pytest.raises(http.client.RemoteDisconnected):
        caller.post(CHARGE, "k1", order=1)
    caller.set_faults("payment")
    repeated = caller.post(CHARGE, "k1", order=1)

    assert repeated.status == 200
    assert caller.effects("payment") == [("charge", "k1", 1)]
    assert caller.struck("payment") == {"drop_after_effect_rate": 1}


def test_garbage_comes_after_the_effect(caller):
    caller.set_faults("payment", garbage_rate=1)

    reply = caller.post(CHARGE, "k1", order=1)

    assert reply.status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.raw)
    assert caller.effects("payment") == [("charge", "k1", 1)]
    assert caller.struck("payment") == {"garbage_rate": 1}


def test_a_lie_comes_after_the_effect(caller):
    caller.set_faults("payment", lie_rate=1, lie_statuses=[303])

    reply = caller.post(CHARGE, "k1", order=1)

    assert (reply.status, reply.body["error"]) == (303, "fault")
    assert caller.effects("payment") == [("charge", "k1", 1)]
    assert caller.struck("payment") == {"lie_rate": 1}


def test_a_lie_is_drawn_anew_for_each_call(caller):
    caller.set_faults("payment", lie_rate=0.8, seed=3)

    statuses = [caller.post(CHARGE, "k1", order=1).status for _ in range(60)]

    assert set(statuses) == {200, 503, 429, 303, 400}
    assert caller.effects("payment") == [("charge", "k1", 1)]
    assert caller.struck("payment") == {"lie_rate": 60 - statuses.count(200)}


def test_an_undo_lies_like_any_other_call(caller):
    caller.post(CHARGE, "k1", order=1)
    caller.set_faults("payment", lie_rate=1, lie_statuses=[429])

    assert caller.post("/payment/refund", "k2", order=1, undoes="k1").status == 429
    assert caller.effects("payment") == [("charge", "k1", 1), ("refund", "k2", 1)]


def test_a_refusal_is_neither_dropped_nor_garbled_nor_a_lie(caller):
    caller.set_faults("payment", drop_after_effect_rate=1, garbage_rate=1, lie_rate=1)

    assert caller.post(CHARGE, "k1", order=1, card="declined").status == 402
    assert caller.struck("payment") == {}


def test_a_call_processed_twice_is_one_effect(caller):
    caller.set_faults("payment", duplicate_rate=1)

    assert caller.post(CHARGE, "k1", order=1).status == 200
    ledger = caller.ledger("payment")
    assert (len(ledger["effects"]), ledger["calls"]) == (1, 1)
    assert caller.struck("payment") == {"duplicate_rate": 1}


def test_fail_every_strikes_by_the_orders_number(caller):
    caller.set_faults("payment", fail_every=3)

    statuses = [caller.post(CHARGE, f"k{n}", order=n).status for n in range(1, 8)]

    assert statuses == [200, 200, 500, 200, 200, 500, 200]
    assert [order for _, _, order in caller.effects("payment")] == [1, 2, 4, 5, 7]
    assert caller.struck("payment") == {"fail_every": 2}


def test_fail_every_uses_the_chosen_status(caller):
    caller.set_faults("payment", fail_every=1, error_status=422)

    assert caller.post(CHARGE, "k1", order=1).status == 422


def test_a_service_that_is_down_answers_503_to_every_post(caller):
    caller.set_faults("payment", down=True)

    replies = [caller.post(CHARGE, "k1", order=1), caller.send("POST", CHARGE, b"?")]

    assert [reply.status for reply in replies] == [503, 503]
    assert {reply.headers["Retry-After"] for reply in replies} == {"1"}
    assert caller.struck("payment") == {"down": 2}
    assert caller.post("/billing/issue", "k1", order=1).status == 200


def test_new_fault_set_replaces_former_and_empty_set_clears_faults(caller):
    caller.set_faults("payment", down=True, fail_every=2)

    assert caller.set_faults("payment", error_rate=0.5, seed=4).status == 200
    assert caller.faults("payment") == {"error_rate": 0.5, "seed": 4}
    assert caller.set_faults("payment").body == {}
    assert caller.faults("payment") == {}


def test_the_same_seed_strikes_the_same_calls(tmp_path):
    def statuses(store: Path) -> list[int]:
        with Sandbox(store) as sandbox:
            caller = Caller(sandbox.url)
            caller.set_faults("payment", error_rate=0.5, seed=9)
            return [caller.post(CHARGE, f"k{n % 10}", order=1).status for n in range(30)]

    first, second = statuses(tmp_path / "one"), statuses(tmp_path / "two")

    assert first == second
    assert set(first) == {200, 503}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("eror_rate", 0.5),
        ("error_rate", -0.1),
        ("error_rate", 1.1),
        ("error_rate", "0.5"),
        ("error_rate", True),
        ("error_rate", None),
        ("error_rate", float("nan")),
        ("hang_rate", float("inf")),
        ("hang_rate", [1]),
        ("drop_after_effect_rate", {}),
        ("garbage_rate", 2),
        ("duplicate_rate", "1"),
        ("lie_rate", 1.5),
        ("lie_statuses", 503),
        ("lie_statuses", []),
        ("lie_statuses", [503, 200]),
        ("lie_statuses", [True]),
        ("lie_statuses", ["503"]),
        ("error_status", 200),
        ("error_status", 600),
        ("error_status", 500.0),
        ("latency_seconds", -1),
        ("latency_seconds", 301),
        ("latency_seconds", "1"),
        ("fail_every", 0),
        ("fail_every", 2.5),
        ("fail_every", True),
        ("hang_every", -3),
        ("down", 1),
        ("down", "yes"),
        ("seed", "x"),
        ("seed", 1.5),
    ],
)
def test_a_wrong_switch_is_named_and_changes_nothing(caller, field, value):
    caller.set_faults("payment", fail_every=5)

    reply = caller.set_faults("payment", **{"down": True, field: value})

    assert (reply.status, reply.body["field"]) == (422, field)
    assert reply.body["problem"]
    assert reply.body["remedy"].startswith("Send ")
    assert caller.faults("payment") == {"fail_every": 5}
