"""A test that makes sense on PostgreSQL only is in the pass of `make test` that has one."""

from pathlib import Path

from tests import everywhere

TESTS = Path(everywhere.__file__).parent


def test_every_postgresql_test_is_in_the_postgresql_pass():
    marked = [
        path
        for path in TESTS.rglob("test_*.py")
        if "mark.postgresql" in path.read_text() and path != Path(__file__)
    ]
    runs = [TESTS.parent / part for part in everywhere.OF_THE_ENGINE]
    assert len(marked) > 20
    assert [one for one in marked if not any(one.is_relative_to(part) for part in runs)] == []
