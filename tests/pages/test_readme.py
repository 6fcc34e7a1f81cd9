"""README, followed to the letter in an empty folder: every block, in order, as printed."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.pages import acts, checkout
from tests.pages.reader import Page, Reader, blocks_of
from tests.pages.terminal import Terminal
from tests.services import own_postgres_database, own_rabbitmq_vhost

pytestmark = [pytest.mark.slow, pytest.mark.smoke]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    web, sandbox = checkout.free_port(), checkout.free_port()
    for name in ("origin", "empty", "notes", "home", "static"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        page = Page(
            "README.md",
            not_run=1,
            replace={
                # No pip: the environment is there.
                "git clone <this repository> && cd <its folder>": (
                    f"git clone -q {checkout.origin(tmp_path / 'origin')} shop && cd shop"
                    f" && {checkout.READY}"
                ),
                # Ports that nobody else listens at.
                "manage.py sandbox": f"manage.py sandbox --port {sandbox}",
                "manage.py runserver": f"manage.py runserver {web}",
                "gunicorn sasproject.wsgi": f"gunicorn sasproject.wsgi --bind 127.0.0.1:{web}",
                # Servers of this machine's.
                "postgres://shop:PASSWORD@db:5432/shop": stack.enter_context(
                    own_postgres_database()
                ),
                "amqp://shop:PASSWORD@mq:5672/shop": stack.enter_context(own_rabbitmq_vhost()),
                "/srv/shop/static": str(tmp_path / "static"),
                "LONG_AND_RANDOM": "it-is-long-and-nobody-else-knows-it-" * 2,
            },
            before={
                "python manage.py order show": acts.order_something_small_and_something_large,
                "python manage.py process show": acts.wait_for_the_question,
            },
            after={
                "make demo": acts.wait_for_the_log("make demo", "Shop: http"),
                "gunicorn": acts.see_the_site(web, "shop.example.org"),
                "from django.db import transaction": acts.take_the_printed_number,
                "python manage.py process answer": acts.see_the_trip_processed,
            },
        )
        environment = {
            **checkout.environment(tmp_path / "home"),
            "SANDBOX_URL": f"http://127.0.0.1:{sandbox}",
        }
        terminal = Terminal(tmp_path / "empty", environment, tmp_path / "notes")
        reader = Reader(page, terminal, {})
        stack.callback(reader.close)
        yield reader


def test_every_block_of_readme_works_as_printed(reader: Reader) -> None:
    found = blocks_of(checkout.ROOT, reader.page)
    assert sum(bool(block.excuse) for block in found) == reader.page.not_run
    reader.follow(found)
