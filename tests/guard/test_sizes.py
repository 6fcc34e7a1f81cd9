"""The count of lines of code, which `make lint` holds against ceilings."""

from tests.sizes import lines_of_code

SOURCE = '''"""A docstring
of two lines."""

import os  # with a comment

# A comment.
TEXT = """two
lines"""


def f(x: int) -> int:
    """One line."""
    return (
        x
    )
'''


def test_code_is_counted_without_blanks_comments_and_docstrings() -> None:
    assert lines_of_code(SOURCE) == 7
    assert lines_of_code('"""Nothing else."""\n') == 0
    assert lines_of_code("") == 0
