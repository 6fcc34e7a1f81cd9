"""The login at the broker: whether an error means that a reachable broker refuses it."""

from amqp.exceptions import AccessRefused, NotAllowed

from workers.exceptions import causes

#: RabbitMQ's codes 403 (user, password, permission) and 530 (virtual host).
_RABBITMQ_ERRORS = (AccessRefused, NotAllowed)
#: Redis's exceptions by name: an installation with RabbitMQ lacks the package.
_REDIS_ERRORS = ("AuthenticationError", "AuthenticationWrongNumberOfArgsError", "NoPermissionError")
_NO_SUCH_DATABASE = "DB index is out of range"


def refusal(error: BaseException | None) -> str | None:
    """Return why the broker refuses the login and what to do; None for any other error."""
    for cause in causes(error):
        if (
            isinstance(cause, _RABBITMQ_ERRORS)
            or type(cause).__name__ in _REDIS_ERRORS
            or _NO_SUCH_DATABASE in str(cause)
        ):
            message = getattr(cause, "reply_text", None) or str(cause) or type(cause).__name__
            return (
                f"The broker refuses this login: {message.splitlines()[0].rstrip('.')}. "
                "Correct BROKER_URL, or create the user, its virtual host or its permissions."
            )
    return None
