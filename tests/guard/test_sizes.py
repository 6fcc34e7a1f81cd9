"""The counts of lines of code and of words, which `make lint` holds against ceilings."""

from tests.sizes import DOCS_WORDS, PARTS, PRODUCT, lines_of_code, words_of_docs

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


def test_code_is_counted_without_blanks_comments_and_docstrings():
    assert lines_of_code(SOURCE) == 7
    assert lines_of_code('"""Nothing else."""\n') == 0
    assert lines_of_code("") == 0


def test_docs_have_no_more_words_than_their_ceiling():
    assert 0 < words_of_docs() <= DOCS_WORDS


def test_a_part_grows_only_by_what_another_loses():
    assert sum(part.lines for part in PARTS if part.name != "tests") <= PRODUCT
