"""Calls that race: with one key, with many, and against their own undo."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.sandbox.caller import Caller, Reply

THREADS = 20


def race(*calls: tuple[Caller, str, str, dict[str, object]]) -> list[Reply]:
    gate = Barrier(len(calls))

    def one(caller: Caller, path: str, key: str, body: dict[str, object]) -> Reply:
        gate.wait()
        return caller.post(path, key, **body)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, *zip(*calls, strict=True)))


def test_twenty_calls_with_one_key_are_one_effect_and_twenty_equal_answers(caller):
    replies = race(*[(caller, "/payment/charge", "k1", {"order": 1, "amount": "5.00"})] * THREADS)

    assert [reply.status for reply in replies] == [200] * THREADS
    assert len({reply.raw for reply in replies}) == 1
    ledger = caller.ledger("payment")
    assert (len(ledger["effects"]), ledger["calls"]) == (1, THREADS)


def test_twenty_calls_with_a_key_each_are_twenty_effects(caller):
    replies = race(
        *[(caller, "/billing/issue", f"k{n}", {"order": n}) for n in range(1, THREADS + 1)]
    )

    assert len({reply.body["id"] for reply in replies}) == THREADS
    assert len(caller.effects("billing")) == THREADS


def test_one_key_for_twenty_orders_is_one_effect_and_nineteen_refusals(caller):
    replies = race(*[(caller, "/billing/issue", "k1", {"order": n}) for n in range(1, THREADS + 1)])

    statuses = sorted(reply.status for reply in replies)
    assert statuses == [200] + [422] * (THREADS - 1)
    assert len(caller.effects("billing")) == 1


def test_a_call_that_races_its_undo_is_either_undone_or_too_late(caller):
    for n in range(1, 11):
        forward, undo = race(
            (caller, "/payment/charge", f"do{n}", {"order": n}),
            (caller, "/payment/refund", f"un{n}", {"order": n, "undoes": f"do{n}"}),
        )

        assert undo.status == 200
        assert (forward.status == 200) == undo.body["undone"]
        operations = [op for op, _, order in caller.effects("payment") if order == n]
        assert operations == (["charge", "refund"] if forward.status == 200 else [])


def test_faults_strike_the_same_calls_whatever_the_threads_do(caller):
    caller.set_faults("payment", error_rate=0.5, seed=2)
    calls = [(caller, "/payment/charge", f"k{n}", {"order": n}) for n in range(1, THREADS + 1)]

    first = [reply.status for reply in race(*calls)]
    caller.set_faults("payment", error_rate=0.5, seed=2)
    second = [reply.status for reply in race(*calls)]

    assert first == second
    assert set(first) == {200, 503}
