"""`make lint`: how large each part is.

Code is counted in lines without blanks, comments and docstrings, `docs/` in words.
"""

import ast
import io
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the repository, and the lines of code and files beyond which it is too large."""

    name: str
    folder: str
    but: tuple[str, ...] = ()
    lines: int = 0
    files: int = 0


#: Lower a ceiling when its part has shrunk; raise one by what another loses in the same commit.
PARTS = (
    Part(
        "engine",
        "workers",
        ("workers/desk", "workers/ops", "workers/privacy", "workers/testing"),
        19_250,
        259,
    ),
    Part("ops", "workers/ops", lines=3_285, files=38),
    Part("privacy", "workers/privacy", lines=449, files=5),
    Part("desk", "workers/desk", lines=15_540, files=158),
    Part("test kit", "workers/testing", lines=1_159, files=13),
    Part("shop", "orders", lines=8_790, files=133),
    Part("wiring", "sasproject", lines=3_651, files=71),
    Part("tests", "tests", lines=71_791, files=736),
)
#: The product in all, without tests.  Only a decision raises it, and is named here: ADR 121 by
#: 384, ADR 119 by 557, ADR 120 by 1,284, ADR 118 by 1,040, ADR 117 by 457, ADR 116 by 72,
#: ADR 115 by 186.
PRODUCT = 52_124
#: The words of all pages under `docs/`: lower it with every page that is shortened.
DOCS_WORDS = 76_697


def lines_of_code(source: str) -> int:
    """Count the lines on which code stands."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def measure(part: Part) -> tuple[int, int]:
    """Return the lines of code of a part, and its files that have any."""
    left_out = tuple(ROOT / folder for folder in part.but)
    counts = [
        lines_of_code(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / part.folder).rglob("*.py"))
        if "migrations" not in path.parts and not any(map(path.is_relative_to, left_out))
    ]
    return sum(counts), sum(map(bool, counts))


def words_of_docs() -> int:
    """Count the words of the pages as `wc -w` does."""
    pages = (ROOT / "docs").rglob("*.md")
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def main() -> int:
    is_too_large, product = False, 0
    for part in PARTS:
        lines, files = measure(part)
        product += 0 if part.name == "tests" else lines
        over = lines > part.lines or files > part.files
        is_too_large = is_too_large or over
        print(
            f"{part.name:9} {lines:6} lines of code of {part.lines:6}, {files:4} files of"
            f" {part.files:4}{'  TOO LARGE' if over else ''}"
        )
    words = words_of_docs()
    print(f"product   {product:6} lines of code of {PRODUCT:6}")
    print(f"docs      {words:6} words         of {DOCS_WORDS:6}")
    return int(is_too_large or product > PRODUCT or words > DOCS_WORDS)


if __name__ == "__main__":
    sys.exit(main())
