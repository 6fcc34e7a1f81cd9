"""Logging: an event name and its fields per line, as text or as JSON."""

import logging
import logging.config
import re
from typing import Any

import structlog
from amqp.exceptions import AMQPError
from django.core.exceptions import ImproperlyConfigured
from kombu.exceptions import OperationalError as BrokerError

from sasproject.access_log import DropUnavailable
from workers.exceptions import causes, first_line
from workers.logs import call_fields
from workers.runtime import db_connections

#: Loggers whose fields are shown; fields of libraries may contain a task's arguments.
OURS = ("sasproject", "orders", "workers")
#: Exceptions of kombu and amqp if the broker is away or refuses the login.
BROKER_AWAY = (BrokerError, AMQPError)

_add_fields = structlog.stdlib.ExtraAdder()


def _add_our_fields(logger: Any, name: str, event: Any) -> Any:
    """Add the ``extra`` fields of our own records."""
    record = event.get("_record")
    if record is not None and record.name.partition(".")[0] in OURS:
        return _add_fields(logger, name, event)
    return event


def _add_call_fields(logger: Any, name: str, event: Any) -> Any:
    """Add the fields of the current call to a record of any logger."""
    return {**call_fields(), **event}


#: What the shop calls its processes: the order's own, and a return's.
_SUBJECT = re.compile(r"(?:Order|Return of order) (\d+)")


def _add_order(logger: Any, name: str, event: Any) -> Any:
    """Add the number of the order that a line's process is about, as the web's lines have it."""
    if match := _SUBJECT.match(str(event.get("subject", ""))):
        event.setdefault("order", int(match[1]))
    return event


#: Secrets that grant access: a path (a callback, an order's page), one of our tokens, a webhook
#: secret, the credentials of a request, a password in a URL.
_SECRETS = re.compile(
    r"""(/callbacks/|/orders/|/my-orders/)[^\s/?"'\\]{16,}
    |(sas_[0-9a-f]{8}_)[\w-]+
    |(whsec_)[\w+/=-]+
    |(\b(?:basic|bearer|token)[ ]+)[\w+/=.~-]{8,}
    |(://[^\s:/@"']*:)[^\s@/"']+(?=@)""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


def _mask_secrets(logger: Any, name: str, line: str) -> str:
    """Mask the secrets in a line of any logger, in any of its fields."""
    return _SECRETS.sub(lambda match: f"{next(filter(None, match.groups()))}***", line)


def _shorten_outages(logger: Any, name: str, event: Any) -> Any:
    """Log an outage in one line; at DEBUG with the traceback and the whole message.

    Every request and every beat logs it again, and its traceback says nothing about our code.
    """
    error = event.get("exc_info")
    error = error[1] if isinstance(error, tuple) else error
    if logging.root.isEnabledFor(logging.DEBUG) or not isinstance(error, BaseException):
        return event
    for cause in causes(error):
        if db_connections.is_outage(cause) or isinstance(cause, BROKER_AWAY):
            del event["exc_info"]
            event["event"] = str(event["event"]).partition("\n")[0]
            event.setdefault("reason", f"{type(cause).__name__}: {first_line(cause)}")
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
    """Log structlog's and the standard library's records to stderr in one format."""
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
                        _add_order,
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        renderer,
                        _mask_secrets,
                    ],
                }
            },
            "filters": {"unavailable": {"()": DropUnavailable}},
            "handlers": {
                "stderr": {
                    "class": "workers.logs.DroppingHandler",
                    "formatter": "one_line",
                    "filters": ["unavailable"],
                }
            },
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                # Celery sets the root's level to the one of its option -l.
                "sasproject.ready": {"level": level},
                # Lines for each request and message would only repeat the journal.
                "celery.worker.strategy": {"level": "WARNING"},
                "celery.app.trace": {"level": "WARNING"},
                # Every command would warn of a broker without a host, as files have none.
                "kombu.connection": {"level": "ERROR"},
                "httpx2": {"level": "WARNING"},
                "httpcore2": {"level": "WARNING"},
            },
        }
    )
