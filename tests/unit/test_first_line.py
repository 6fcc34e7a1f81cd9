"""The beginning of what an error says, as it stands inside a sentence."""

import pytest

from workers.exceptions import first_line

SEVERAL = """connection failed: connection to server at "10.0.0.2", port 5432 failed: refused
\tIs the server running on that host and accepting TCP/IP connections?
Multiple connection attempts failed. All failures were:
- host: 'db1', port: '5432', hostaddr: '10.0.0.1': connection failed: refused
\tIs the server running on that host and accepting TCP/IP connections?
- host: 'db2', port: '5432', hostaddr: '10.0.0.2': connection failed: refused
"""


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("it broke.\nAnd more.", "it broke"),
        ("", "OSError"),
        (
            SEVERAL,
            'connection failed: connection to server at "10.0.0.2", port 5432 failed: refused'
            " (tried: db1:5432, db2:5432)",
        ),
        (
            "failed\n- host: 'db1', port: '', hostaddr: '10.0.0.1': refused"
            "\n- host: 'db2', port: '', hostaddr: '10.0.0.2': refused",
            "failed (tried: db1:5432, db2:5432)",
        ),
        ("failed\n- host: 'db1', port: '5432', hostaddr: '10.0.0.1': refused", "failed"),
    ],
)
def test_all_hosts_that_were_tried_are_named(said, line):
    assert first_line(OSError(said)) == line
