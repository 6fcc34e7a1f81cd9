"""The broker: whether it answers, accepts and keeps messages, and is ours alone."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from celery import current_app
from kombu import Exchange, Producer, Queue

from workers.conf import sas
from workers.definitions.sentences import say as _
from workers.exceptions import in_a_line
from workers.ops.doctor.connecting import (
    AMQP,
    REDIS,
    Unreachable,
    alarms_of,
    broker_is,
    connected,
    kind,
    while_connected,
)
from workers.ops.doctor.finding import Finding, error, info, ok, warning
from workers.ops.doctor.registry import Need, probe
from workers.wire import installation
from workers.wire.installation import CARDS_QUEUE as QUEUE

OLDEST_RABBITMQ = (3, 8)
#: Prefixes of kombu's keys, beside those named after queues.
_KOMBU = ("_kombu.", "unacked", "celery", "sas.", "replies.", "orders.", "global:")
KEYS_LOOKED_AT = 1000
NOT_ALLOWED = 403


@probe("broker", needs=Need.NOTHING)
def answers() -> Iterable[Finding]:
    """Say whether the broker answers within its time, and which one it is."""
    url = _url(current_app.connection_for_write())
    try:
        with connected() as connection:
            findings = list(_server_findings(connection))
    except Unreachable as failure:
        yield error(
            _("the broker %(url)s does not answer: %(failure)s", url=url, failure=str(failure)),
            _("Nothing is sent: orders are accepted and wait, and nothing fails."),
            _("Check BROKER_URL, the server, and the network between."),
        )
        return
    yield from findings or [ok(_("the broker answers: %(url)s", url=url))]


def _url(connection: Any) -> str:
    """Return the broker's URL, with a mask for its password if it has one."""
    # kombu would fill in a host and a password that are not set.
    if not connection.hostname:
        return f"{connection.transport_cls}://"
    return str(connection.as_uri(mask="**" if connection.password else ""))


def _server_findings(connection: Any) -> Iterable[Finding]:
    if kind(connection) != AMQP:
        return
    facts = connection.connection.server_properties
    version = str(facts.get("version", ""))
    yield ok(
        _(
            "%(product)s %(version)s answers",
            product=str(facts.get("product", "AMQP")),
            version=version,
        )
    )
    if facts.get("product") == "RabbitMQ" and _numbers(version) < OLDEST_RABBITMQ:
        yield warning(
            _("RabbitMQ is %(version)s", version=version),
            _("It is tested with 3.10; older versions are untested."),
            _("Upgrade the server."),
        )


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())


@probe("broker")
@while_connected
def is_ours_alone(connection: Any) -> Iterable[Finding]:
    """Leave this installation's card at the broker, and look for other installations' cards."""
    try:
        others = installation.exchange(connection)
    except Exception as failure:
        if getattr(failure, "reply_code", None) != NOT_ALLOWED:
            raise
        yield info(
            _(
                "this login may not read the queue %(queue)s, so neighbours are unknown",
                queue=QUEUE,
            ),
            _("It may still have all the rights its role needs."),
            _('Use the workers\' login: see "Limit what processes may do".'),
        )
        return
    for card in others:
        yield error(
            _(
                "another installation uses this broker: %(installation)s, with the database"
                " %(database)r on %(host)r",
                installation=card.installation,
                database=card.database,
                host=card.host or "this machine",
            ),
            _(
                "Messages of each reach the other. Each is put back for its owner, which costs"
                " seconds."
            ),
            _(
                "Give one of the two a virtual host of its own (with Redis a database number) in"
                " BROKER_URL."
            ),
        )
    if not others:
        yield ok(_("no other installation has announced itself at the broker"))


@probe("broker", needs=Need.NOTHING, applies=lambda: broker_is(AMQP))
@while_connected
def confirms_messages(connection: Any) -> Iterable[Finding]:
    """Send a message to a queue of the probe's own: it must be confirmed, and arrive."""
    alarms = alarms_of(connection)
    try:
        yield _echo(connection)
    except Exception as failure:  # noqa: BLE001 (each transport has errors of its own)
        # A proper close would wait for a broker that reads nothing.
        connection.collect()
        yield _alarm(alarms[0]) if alarms else _refusal(failure)


def _echo(connection: Any) -> Finding:
    channel = connection.channel()
    name = f"sas.doctor.{uuid4().hex}"
    queue = Queue(name, Exchange("sas", type="direct"), name, exclusive=True, auto_delete=True)
    bound = queue(channel)
    bound.declare()
    Producer(channel).publish(
        {"doctor": name},
        exchange="sas",
        routing_key=name,
        mandatory=True,
        confirm_timeout=sas.reply_seconds,
        retry=False,
    )
    message = bound.get(no_ack=True)
    if message is None:
        return error(
            _("a message the broker confirmed is not in its queue"),
            _("Messages it confirms are lost."),
            _(
                "Check the server's policies: a max-length or a message-ttl on sas.* drops"
                " messages."
            ),
        )
    return ok(_("the broker takes, confirms and delivers a message"))


def _alarm(reason: str) -> Finding:
    return error(
        _("the broker is in alarm and takes no message: %(reason)s", reason=reason),
        _("Nothing is sent: orders are accepted and wait, and nothing fails."),
        _(
            "Free memory or disk space (`rabbitmqctl status` names the alarm); it then"
            " continues by itself."
        ),
    )


def _refusal(failure: Exception) -> Finding:
    text = in_a_line(failure, 200)
    if getattr(failure, "reply_code", None) == NOT_ALLOWED:
        return info(
            _("this login may not create a queue sas.doctor.*, so no test message was sent"),
            _("It may still have all the rights its role needs."),
            _(
                'Run this with the workers\' login: see "Limit what processes may do" in the'
                " documentation."
            ),
        )
    return error(
        _("the broker took no message: %(said)s", said=text),
        _("Nothing is sent: orders are accepted and wait, and nothing fails."),
        _(
            "Check for a memory or disk alarm (`rabbitmqctl status`), and check the login's"
            " permissions."
        ),
    )


@probe("broker", needs=Need.NOTHING, applies=lambda: broker_is(REDIS))
@while_connected
def redis_takes_writes(connection: Any) -> Iterable[Finding]:
    """Write a key of this probe's own: a demoted server answers, but refuses writes."""
    key = f"sas.doctor.{uuid4().hex}"
    try:
        client = connection.default_channel.client
        client.set(key, "1", ex=60)
        client.delete(key)
    except Exception as failure:  # noqa: BLE001 (each version has errors of its own)
        yield error(
            _("the broker takes no message: %(said)s", said=in_a_line(failure, 200)),
            _("Nothing is sent: orders are accepted and wait, and nothing fails."),
            _("Point BROKER_URL to the primary; if it does, check the server's memory and disk."),
        )
        return
    yield ok(_("the broker takes writes"))


@probe("broker", needs=Need.NOTHING, applies=lambda: broker_is(REDIS))
@while_connected
def redis_keeps_messages(connection: Any) -> Iterable[Finding]:
    """Look for settings of Redis or Valkey that could lose messages."""
    client = connection.default_channel.client
    facts = client.info()
    name = "Valkey" if "valkey_version" in facts else "Redis"
    yield ok(
        _(
            "%(name)s %(version)s answers",
            name=name,
            version=str(facts.get("valkey_version", facts.get("redis_version"))),
        )
    )
    yield from _redis_findings(facts)
    queues = current_app.amqp.queues
    strange = sorted(
        key
        for key in (raw.decode("utf-8", "replace") for raw in _some_keys(client))
        if not key.startswith(_KOMBU) and key.partition("\x06")[0] not in queues
    )
    if strange:
        yield warning(
            _(
                "the broker's database holds keys of another application, such as %(key)r",
                key=strange[0][:60],
            ),
            _(
                "Flushing it deletes our messages, and the shortest visibility timeout applies"
                " to all."
            ),
            _("Give the broker a database number of its own: redis://host:6379/N."),
        )


def _redis_findings(facts: dict[str, Any]) -> Iterable[Finding]:
    policy = facts.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield error(
            _("Redis evicts by %(policy)s when its memory is full", policy=policy),
            _("It would evict messages, and the bindings of the queues."),
            _("Set maxmemory-policy noeviction."),
        )
    if not facts.get("aof_enabled"):
        yield warning(
            _("Redis writes no append-only file"),
            _(
                "A restart loses what it held: the next poll replaces wake-ups, but nothing"
                " replaces orders waiting in a queue."
            ),
            _("Set appendonly yes."),
        )


def _some_keys(client: Any) -> Iterable[bytes]:
    for i, key in enumerate(client.scan_iter(count=500)):
        if i >= KEYS_LOOKED_AT:
            return
        yield key
