"""The roles of the how-to, made as its page says."""

import re
import uuid
from pathlib import Path

from django.db import connection

_ROOT = Path(__file__).resolve().parents[1]
_PAGE = _ROOT / "docs" / "how-to" / "limit-what-processes-may-do.md"
ROLES = ("shop_web", "shop_worker", "shop_beat", "shop_consumer")


def page() -> str:
    return _PAGE.read_text(encoding="utf-8")


def statements(language: str) -> list[str]:
    """Return the blocks of the page in a language, and of SQL the file that it names."""
    blocks = re.findall(rf"```{language}\n(.*?)```", page(), re.DOTALL)
    return blocks + [(_ROOT / "deploy" / "grants.sql").read_text()] * (language == "sql")


def named(sql: str, mark: str) -> str:
    """Return a block with roles that are nobody else's: they belong to the whole server."""
    return re.sub(r"\bshop_(\w+)", rf"shop_\1_{mark}", sql)


def make() -> str:
    """Make the roles until the end of the test's transaction; return what marks their names."""
    mark = uuid.uuid4().hex[:8]
    with connection.cursor() as cursor:
        for block in statements("sql"):
            cursor.execute(named(block, mark).replace("%", "%%"))
    return mark


def be(role: str, mark: str | None = None) -> None:
    """Have a role, and no other rights, from now on."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {role}_{mark or make()}")


def be_owner() -> None:
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
