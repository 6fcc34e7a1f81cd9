"""What ``BENCH_WITHOUT`` leaves out is left out."""

import pytest

from benchmarks.app.without import leave_out, without_journal
from workers.store import journal
from workers.store.claims import claim_fast
from workers.store.settle import settle_fast, successors_fast

#: Whose statements write the journal themselves.
MODULES = (settle_fast, successors_fast, claim_fast)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back what is patched for a measurement."""
    for module in MODULES:
        monkeypatch.setattr(module, "STATEMENT", module.STATEMENT)
    monkeypatch.setattr(journal, "write", journal.write)


def test_without_the_journal_no_statement_writes_it(
    engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [module.STATEMENT for module in MODULES]
    monkeypatch.setenv("BENCH_WITHOUT", "journal")

    leave_out()

    for one, whole in zip([module.STATEMENT for module in MODULES], before, strict=True):
        assert "INSERT INTO workers_journal" in whole
        assert "workers_journal" not in one
        # Nothing else is missing: what comes before it and what comes after.
        assert "UPDATE workers_step" in one
        assert one.endswith(whole[whole.rindex("SELECT ") :])


def test_where_nothing_would_be_left_out_it_says_so() -> None:
    with pytest.raises(ValueError, match="0 parts of the statement write the journal"):
        without_journal("SELECT 1")
