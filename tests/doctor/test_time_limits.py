"""A database without time limits: the doctor gives the line that sets them, as the page does."""

from pathlib import Path

from sasproject import databases
from workers.ops.doctor import database

_PAGES = Path(__file__).resolve().parents[2] / "docs" / "how-to"
LIMITS = (
    "-c statement_timeout=15000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=30000"
)


def test_each_missing_limit_comes_with_the_line_for_all(monkeypatch):
    monkeypatch.setattr(database, "_setting", lambda name: "0")

    found = list(database.limits_what_hangs())

    assert len(found) == 3
    for finding in found:
        assert f'"OPTIONS": {{"options": "{LIMITS}"}}' in str(finding.remedy)


def test_the_line_is_what_the_shop_sets_and_the_page_says():
    page = (_PAGES / "install-into-your-project.md").read_text(encoding="utf-8")

    assert LIMITS in databases.LIMITS
    assert LIMITS in page.replace('"\n    "', "")
