"""A broker that answers and refuses the login ends a process at its start, and never later."""

import subprocess
from pathlib import Path

import pytest
from amqp.exceptions import AccessRefused, NotAllowed
from kombu.exceptions import OperationalError

from sasproject import refusals
from sasproject.stack import backends
from sasproject.stack.exceptions import StackError
from tests.services import own_rabbitmq_vhost, own_redis_database
from workers.celery.broker_login import refusal

from .test_loopback import python
from .test_refusals import CELERY, own_lines

PROCESSES: dict[str, tuple[str, ...]] = {
    "worker": (*CELERY, "worker", "-c", "1"),
    "beat": (*CELERY, "beat", "--pidfile="),
    "consumer": ("manage.py", "consume_submissions"),
}


class AuthenticationError(Exception):
    """As redis-py names it."""


REFUSED = (AccessRefused("403"), NotAllowed("530"), AuthenticationError("invalid password"))


@pytest.mark.parametrize("error", REFUSED, ids=repr)
def test_a_refused_login_is_known_wherever_it_stands_in_a_chain(error):
    wrapped = RuntimeError("kombu's own")
    wrapped.__cause__ = error
    assert "Correct BROKER_URL" in str(refusal(wrapped))


@pytest.mark.parametrize("error", [ConnectionRefusedError(), TimeoutError(), KeyError("x")])
def test_a_broker_that_is_away_has_refused_nobody(error):
    assert refusal(error) is None


@pytest.mark.parametrize("error", REFUSED, ids=repr)
def test_a_command_says_of_a_refused_login_that_it_was_refused(error):
    wrapped = OperationalError("kombu's own")
    wrapped.__cause__ = error
    assert "The broker refuses this login" in str(refusals.explain(wrapped))
    assert refusals.explain(error) == refusals.explain(wrapped)


def test_the_stack_says_of_a_refused_login_that_it_was_refused(settings, vhost):
    settings.CELERY_BROKER_URL = vhost.replace("guest:guest", "guest:wrong")
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {}
    with pytest.raises(StackError, match="The broker refuses this login: ACCESS_REFUSED"):
        backends.check_broker()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run folder with a database and its tables."""
    folder = tmp_path_factory.mktemp("run")
    assert python(folder, "manage.py", "migrate", "-v", "0").returncode == 0
    return folder


def told(folder: Path, process: str, url: str) -> str:
    """Return the one line that a process ends with."""
    # Celery warns whoever runs it as root.
    environment = {"BROKER_URL": url, "SAS_LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}
    done = python(folder, *PROCESSES[process], **environment)
    assert done.returncode == 1, done.stderr
    (line,) = own_lines(done)
    assert "Correct BROKER_URL" in line
    return line


@pytest.mark.volume
@pytest.mark.parametrize("process", PROCESSES)
def test_a_password_that_is_wrong_ends_a_process(folder, vhost, process):
    line = told(folder, process, vhost.replace("guest:guest", "guest:wrong"))
    assert "ACCESS_REFUSED" in line
    assert "wrong" not in line


@pytest.mark.volume
@pytest.mark.parametrize("process", PROCESSES)
def test_a_virtual_host_that_is_not_there_ends_a_process(folder, vhost, process):
    assert "NOT_ALLOWED" in told(folder, process, f"{vhost}-of-nobody")


@pytest.mark.volume
def test_a_virtual_host_without_permissions_ends_a_worker(folder):
    with own_rabbitmq_vhost() as url:
        name = url.rpartition("/")[2]
        subprocess.run(["rabbitmqctl", "-q", "clear_permissions", "-p", name, "guest"], check=True)
        assert "NOT_ALLOWED" in told(folder, "worker", url)


@pytest.mark.volume
@pytest.mark.parametrize("process", PROCESSES)
def test_a_database_number_that_redis_lacks_ends_a_process(folder, process):
    with own_redis_database() as url:
        line = told(folder, process, f"{url.rpartition('/')[0]}/4711")
    assert "DB index is out of range" in line
