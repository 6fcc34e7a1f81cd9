"""Readers: each with a folder, ports and servers that are nobody else's."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.pages import checkout
from tests.pages.reader import Page, Reader
from tests.pages.table import SANDBOX, SECRET, WEB
from tests.pages.terminal import Terminal
from tests.programs import free_port
from tests.services import own_postgres_database, own_rabbitmq_vhost

Open = Callable[[Page, Path], Reader]


@pytest.fixture
def open_page(tmp_path) -> Iterator[Open]:
    """Return a reader of a page in a folder."""
    with ExitStack() as stack:

        def reader(page: Page, folder: Path) -> Reader:
            web, sandbox = free_port(), free_port()
            for name in ("notes", "home", "static", "run"):
                (tmp_path / name).mkdir()
            here = {
                # Ports that nobody else listens at.
                WEB: f"http://127.0.0.1:{web}",
                SANDBOX: f"http://127.0.0.1:{sandbox}",
                "manage.py sandbox": f"manage.py sandbox --port {sandbox}",
                "manage.py runserver": f"manage.py runserver {web}",
                "gunicorn sasproject.wsgi": f"gunicorn sasproject.wsgi --bind 127.0.0.1:{web}",
                "/srv/shop/static": str(tmp_path / "static"),
                "/var/lib/shop": str(tmp_path / "run"),
                "THE_SECRET_KEY": SECRET,
            }
            if page.is_on_servers:
                here["postgres://shop:PASSWORD@db:5432/shop"] = stack.enter_context(
                    own_postgres_database()
                )
                here["amqp://shop:PASSWORD@mq:5672/shop"] = stack.enter_context(
                    own_rabbitmq_vhost()
                )
            environment = checkout.environment(tmp_path / "home")
            environment["SANDBOX_URL"] = here[SANDBOX]
            opened = Reader(page, Terminal(folder, environment, tmp_path / "notes"), here)
            stack.callback(opened.close)
            return opened

        yield reader


@pytest.fixture(scope="session")
def origin(tmp_path_factory) -> Path:
    """A repository to be cloned."""
    return checkout.origin(tmp_path_factory.mktemp("origin"))


@pytest.fixture(scope="session")
def migrated(origin, tmp_path_factory) -> Path:
    """A clone with tables, products and people, to be copied."""
    folder = tmp_path_factory.mktemp("migrated") / "shop"
    environment = checkout.environment(folder.parent)
    for command in (
        f"git clone -q {origin} {folder} && cd {folder} && {checkout.READY}",
        f"cd {folder} && python manage.py migrate -v 0 && python manage.py seed_demo",
    ):
        subprocess.run(["bash", "-ec", command], env=environment, check=True)
    return folder


@pytest.fixture
def project(migrated, tmp_path) -> Path:
    """A folder as the reader of a how-to has it: cloned, set up, migrated."""
    return Path(shutil.copytree(migrated, tmp_path / "shop", symlinks=True))
