"""The outside witness: what the services and the mails say."""

from collections import Counter

import pytest

from orders.sandbox.server import Sandbox
from tests.chaos.witness import Witness, ask
from tests.sandbox.caller import Caller


def test_it_counts_effects_and_mails_by_order(tmp_path):
    mails = tmp_path / "mail"
    mails.mkdir()
    (mails / "one").write_text("To: a\nSubject: Your order 7\n\nSubject: Your order 7 is here")
    (mails / "two").write_text("Subject: Your order 7\n\nSubject: Your order 8\n")
    with Sandbox(tmp_path / "ledger.sqlite3") as sandbox:
        caller = Caller(sandbox.url)
        for key in ("k1", "k1", "k2"):
            caller.post("/payment/charge", key, order=7, amount="5.00")
        caller.post("/shipping/book", "k3", order=7)
        found = ask(sandbox.url, mails)
    assert found.standing["payment"] == Counter({7: 2})
    assert found.standing["shipping"] == Counter({7: 1})
    assert (found.effects, found.calls) == (3, 4)
    assert found.doubled() == [
        "payment: order 7 has 2 effects",
        "mail: order 7 was confirmed 2 times",
    ]


@pytest.mark.parametrize(("standing", "is_wrong"), [(-1, True), (0, False), (1, False), (2, True)])
def test_one_effect_may_stand_and_none_may_be_undone_that_was_not_done(standing, is_wrong):
    witness = Witness(standing={"billing": Counter({7: standing})})
    assert bool(witness.doubled()) is is_wrong
