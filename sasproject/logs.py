"""Logging: one event name and its fields a line, as text or as JSON."""

import logging
import logging.config
import re
from typing import Any

import structlog
from amqp.exceptions import AMQPError
from django.core.exceptions import ImproperlyConfigured
from kombu.exceptions import OperationalError as BrokerError

from sasproject.access_log import NotIfUnavailable
from workers.exceptions import causes, first_line
from workers.logs import call_fields
from workers.runtime import db_connections

#: Whose fields are shown; those of libraries may carry a task's arguments.
OURS = ("sasproject", "orders", "workers")
#: What kombu and RabbitMQ's client raise where the broker is away or lets nobody in.
BROKER_AWAY = (BrokerError, AMQPError)

_add_fields = structlog.stdlib.ExtraAdder()


def _add_our_fields(logger: Any, name: str, event: Any) -> Any:
    """Show the ``extra`` fields of our own records, which say the reasons."""
    record = event.get("_record")
    if record is not None and record.name.partition(".")[0] in OURS:
        return _add_fields(logger, name, event)
    return event


def _add_call_fields(logger: Any, name: str, event: Any) -> Any:
    """Say which call a record was logged in, whoever logged it."""
    return {**call_fields(), **event}


#: What opens something for whoever has it: a path that is a right (a callback, an order's page),
#: one of our tokens, a secret of webhooks, what a request says to be let in, a password in a URL.
_RIGHTS = re.compile(
    r"""(/callbacks/|/orders/|/my-orders/)[^\s/?"'\\]{16,}
    |(sas_[0-9a-f]{8}_)[\w-]+
    |(whsec_)[\w+/=-]+
    |(\b(?:basic|bearer|token)[ ]+)[\w+/=.~-]{8,}
    |(://[^\s:/@"']*:)[^\s@/"']+(?=@)""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


def _mask_rights(logger: Any, name: str, line: str) -> str:
    """Mask the rights in a line, whoever wrote it and in whichever of its fields they stand."""
    return _RIGHTS.sub(lambda found: f"{next(filter(None, found.groups()))}***", line)


def _shorten_outages(logger: Any, name: str, event: Any) -> Any:
    """Say in one line that a server is away; at DEBUG with the traceback, and all of the message.

    It comes again with every request and every beat, and tells nothing of the code it struck.
    """
    error = event.get("exc_info")
    error = error[1] if isinstance(error, tuple) else error
    if logging.root.isEnabledFor(logging.DEBUG) or not isinstance(error, BaseException):
        return event
    for one in causes(error):
        if db_connections.is_outage(one) or isinstance(one, BROKER_AWAY):
            del event["exc_info"]
            event["event"] = str(event["event"]).partition("\n")[0]
            event.setdefault("reason", f"{type(one).__name__}: {first_line(one)}")
            break
    return event


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    _add_call_fields,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _shorten_outages,
    structlog.processors.format_exc_info,
]


def configure(*, json: bool, level: str) -> None:
    """Send structlog's and the standard library's records to stderr in one format."""
    if level not in logging.getLevelNamesMapping():
        raise ImproperlyConfigured(
            f"SAS_LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL, got {level!r}."
        )
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if json
        else structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"])
    )
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "one_line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": [*SHARED, _add_our_fields],
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        renderer,
                        _mask_rights,
                    ],
                }
            },
            "filters": {"unavailable": {"()": NotIfUnavailable}},
            "handlers": {
                "stderr": {
                    "class": "logging.StreamHandler",
                    "formatter": "one_line",
                    "filters": ["unavailable"],
                }
            },
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                # Celery sets the root's level to that of its -l.
                "sasproject.ready": {"level": level},
                # A request line and a message line each would say the same as the journal.
                "celery.worker.strategy": {"level": "WARNING"},
                "celery.app.trace": {"level": "WARNING"},
                # It warns of a broker without a host in every command: files have none.
                "kombu.connection": {"level": "ERROR"},
                "httpx2": {"level": "WARNING"},
                "httpcore2": {"level": "WARNING"},
            },
        }
    )
