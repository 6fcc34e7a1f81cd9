"""The fault page: for demonstrations and operators alone, and it kills only its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.sandbox.faults import SWITCHES, FaultSet
from orders.sandbox.server import Sandbox
from sasproject.fault_page import choices
from sasproject.stack import processes
from tests import programs
from tests.admin.conftest import staff
from tests.programs import until
from tests.sandbox.caller import Caller
from tests.stack.fakes import SLEEP
from workers.desk.models import Incident, Preferences
from workers.models import Journal

pytestmark = pytest.mark.django_db

PAGE, SWITCH, KILL = "/admin/faults/", "/admin/faults/switch/", "/admin/faults/kill/"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def demonstration(settings, tmp_path) -> None:
    settings.FAULT_PAGE = True
    settings.RUN_DIR = tmp_path
    settings.SANDBOX_URL = NOWHERE


@pytest.fixture
def services(settings, tmp_path) -> Iterator[Caller]:
    with Sandbox(tmp_path / "sandbox.sqlite3") as sandbox:
        settings.SANDBOX_URL = sandbox.url
        yield Caller(sandbox.url)


@pytest.fixture
def operator(db) -> Client:
    return staff("operator", "operate_flow")


def sleeper(run_dir: Path | None) -> "subprocess.Popen[bytes]":
    """A process that a stack in ``run_dir`` might have started; None: nobody's."""
    marks = processes.mark(run_dir) if run_dir else {}
    inherited = {name: value for name, value in os.environ.items() if name != processes.MARK}
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", SLEEP],
        env={**inherited, **marks},
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


@pytest.fixture
def own(tmp_path) -> Iterator["subprocess.Popen[bytes]"]:
    child = sleeper(tmp_path)
    yield child
    child.kill()
    child.communicate()


@pytest.fixture
def other(tmp_path) -> Iterator["subprocess.Popen[bytes]"]:
    child = sleeper(tmp_path / "other")
    yield child
    child.kill()
    child.communicate()


def running(run_dir: Path, **roles: list[int]) -> None:
    (run_dir / "stack.json").write_text(json.dumps({"stack": [os.getpid()], **roles}))


def acts() -> list[tuple[str, str, dict[str, object]]]:
    rows = Journal.objects.filter(event__startswith="demo_").order_by("id")
    return list(rows.values_list("event", "actor", "detail"))


def incident(**fields: object) -> Incident:
    now = timezone.now()
    made: Incident = Incident.objects.create(
        **{
            "key": "breaker:payment.charge",
            "kind": "agent",
            "code": "breaker_open",
            "params": {"about": "payment.charge"},
            "severity": 2,
            "opened_at": now - timedelta(minutes=2),
            "last_at": now,
            "members": 1,
            "total": 1,
            **fields,
        }
    )
    return made


@pytest.mark.parametrize("address", [PAGE, SWITCH, KILL])
@pytest.mark.parametrize("who", ["nobody", "operator"])
def test_production_has_no_such_page(settings, operator, own, tmp_path, address, who):
    running(tmp_path, agents=[own.pid])
    settings.FAULT_PAGE = False
    client = operator if who == "operator" else Client()
    form = {"role": "agents", "service": "payment", "fault": "down"}
    assert client.get(address).status_code == 404
    assert client.post(address, form).status_code == 404
    assert own.poll() is None
    assert acts() == []
    assert PAGE not in operator.get("/admin/").content.decode()


@pytest.mark.parametrize(
    ("variables", "has_page"),
    [
        ({"DJANGO_DEBUG": "off"}, False),
        ({"DJANGO_DEBUG": "on"}, True),
        ({"DJANGO_LOOPBACK_ONLY": "on"}, True),
    ],
)
def test_only_debug_and_loopback_only_have_it(tmp_path, variables, has_page):
    ours = ("DJANGO_", "SAS_", "DATABASE_URL", "BROKER_URL", "EMAIL_URL", "SANDBOX_URL")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    hosts = {} if has_page else {"DJANGO_ALLOWED_HOSTS": "shop.example.org"}
    secret = {"SAS_RUN_DIR": str(tmp_path), "DJANGO_SECRET_KEY": "k" * 60 + "0123456789"}
    settings = programs.python(
        "-c",
        "from sasproject import settings; print(settings.FAULT_PAGE)",
        env={**inherited, **secret, **hosts, **variables},
        check=True,
    )
    assert settings.stdout.strip() == str(has_page)


def test_it_is_linked_from_the_index_of_a_demonstration(operator):
    assert f'href="{PAGE}"' in operator.get("/admin/").content.decode()


@pytest.mark.parametrize("address", [SWITCH, KILL])
def test_who_may_not_open_a_breaker_only_looks(viewer, own, services, tmp_path, address):
    running(tmp_path, agents=[own.pid])
    page = viewer.get(PAGE)
    assert page.status_code == 200
    assert SWITCH not in page.content.decode()
    assert KILL not in page.content.decode()
    form = {"role": "agents", "service": "payment", "fault": "down"}
    assert viewer.post(address, form).status_code == 403
    assert (own.poll(), services.faults("payment"), acts()) == (None, {}, [])


@pytest.fixture
def viewer(db) -> Client:
    return staff("viewer")


def test_a_stranger_is_sent_to_the_login(db):
    for address in (PAGE, SWITCH, KILL):
        assert Client().post(address).headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("address", [SWITCH, KILL])
def test_acts_are_posts_with_a_token(operator, address):
    assert operator.get(address).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert strict.post(address, {"service": "payment", "fault": "down"}).status_code == 403
    assert acts() == []


def test_a_service_is_broken_and_mended(operator, services):
    page = operator.post(SWITCH, {"service": "payment", "fault": "down"}, follow=True)
    assert services.faults("payment") == {"down": True}
    assert services.faults("billing") == {}
    assert "503 to every call" in page.content.decode().partition("services-title")[2]

    assert "Payment is down: 503 to every call." in page.content.decode()

    operator.post(SWITCH, {"service": "all", "fault": "none"})
    assert services.faults("payment") == {}
    detail = [(event, actor, given["service"], given["fault"]) for event, actor, given in acts()]
    assert detail[0] == ("demo_fault_set", "operator:operator", "payment", "down")
    assert [service for *_, service, fault in detail[1:]] == list(choices.SERVICES)


@pytest.mark.parametrize("name", choices.CHOICES)
def test_the_sandbox_takes_every_choice_and_it_has_words(name):
    for service in choices.SERVICES:
        faults = choices.faults_of(name, service)
        FaultSet.read(faults)
        assert bool(choices.in_words(faults)) == bool(faults)


def test_every_switch_of_the_sandbox_has_words():
    assert set(choices.SWITCHES) == set(SWITCHES)


def test_a_sandbox_that_is_away_is_told_and_nothing_is_journalled(operator):
    page = operator.post(SWITCH, {"service": "payment", "fault": "down"})
    assert page.status_code == 502
    assert "payment did not take it" in page.content.decode()
    assert "The services do not answer" in page.content.decode()
    assert acts() == []


def test_what_is_no_service_is_refused(operator, services):
    for form in ({"service": "../ledger", "fault": "down"}, {"service": "payment", "fault": "x"}):
        assert operator.post(SWITCH, form).status_code == 400
    assert (services.faults("payment"), acts()) == ({}, [])


def test_a_role_is_killed_by_the_id_that_the_stack_keeps(operator, own, tmp_path):
    running(tmp_path, agents=[own.pid])
    page = operator.post(KILL, {"role": "agents"}, follow=True)
    assert own.wait(5) == -9
    assert f"Killed: agents, process {own.pid}." in page.content.decode()
    detail = {"role": "agents", "pid": own.pid}
    assert acts() == [("demo_role_killed", "operator:operator", detail)]


def test_kill_leaves_foreign_process_with_reused_id_alone(operator, other, tmp_path):
    # As if the id had been given to another process since it was written down.
    running(tmp_path, agents=[other.pid])
    assert operator.post(KILL, {"role": "agents"}).status_code == 409
    assert other.poll() is None
    assert acts() == []


@pytest.mark.parametrize("role", ["web", "stack", "nobody", ""])
def test_what_is_not_offered_is_not_killed(operator, own, tmp_path, role):
    running(tmp_path, web=[own.pid])
    assert operator.post(KILL, {"role": role}).status_code == 400
    assert own.poll() is None


def test_a_role_that_is_down_is_told(operator, tmp_path):
    running(tmp_path, agents=[])
    assert operator.post(KILL, {"role": "agents"}).status_code == 409
    assert "down: it is started again" in operator.get(PAGE).content.decode()


def test_without_a_stack_there_is_nothing_to_kill(operator):
    assert "No stack runs in this run folder" in operator.get(PAGE).content.decode()


def test_a_process_that_has_ended_is_not_killed(tmp_path):
    child = sleeper(tmp_path)
    until(lambda: processes.marked(tmp_path) == [child.pid])
    child.kill()
    child.communicate()
    assert not processes.kill_marked(child.pid, tmp_path)


def test_an_incident_comes_and_goes_on_the_page(operator, services):
    poll = {"HX-Request": "true"}
    seen = operator.get(PAGE, headers=poll).headers["X-Seen"]
    assert operator.get(PAGE, headers={**poll, "X-Seen": seen}).status_code == 204

    row = incident()
    answer = operator.get(PAGE, headers={**poll, "X-Seen": seen})
    assert "1 incident is open" in answer.content.decode()
    assert f"/admin/desk/incident/{row.pk}/change/" in answer.content.decode()

    Incident.objects.filter(pk=row.pk).update(state="resolved", resolved_at=timezone.now())
    after = operator.get(PAGE, headers={**poll, "X-Seen": answer.headers["X-Seen"]})
    assert after.status_code == 200
    assert "0 incidents are open" in after.content.decode()
    assert "resolved" in after.content.decode()
    assert "<html" not in after.content.decode()


def test_a_fault_that_was_set_elsewhere_is_seen(operator, services):
    poll = {"HX-Request": "true"}
    seen = operator.get(PAGE, headers=poll).headers["X-Seen"]
    services.set_faults("billing", fail_every=12, error_status=422)
    answer = operator.get(PAGE, headers={**poll, "X-Seen": seen})
    assert "422 to orders whose number divides by 12" in answer.content.decode()


def test_what_others_wrote_is_visible_and_times_are_the_viewers(
    operator, services, django_user_model
):
    opened = timezone.now().replace(hour=12, minute=34, second=56)
    incident(params={"about": "pay\u202ement"}, state="resolved", resolved_at=opened)
    user = django_user_model.objects.get(username="operator")
    Preferences.objects.create(user=user, time_zone="Asia/Tokyo")
    page = operator.get(PAGE).content.decode()
    assert "pay\\u202ement" in page
    assert "21:34:56" in page


def test_incidents_are_for_who_may_see_them(db, django_user_model):
    incident()
    assert "payment.charge" in staff("viewer").get(PAGE).content.decode()
    client = Client()
    client.force_login(django_user_model.objects.create_user("guest", is_staff=True))
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "payment.charge" not in page.content.decode()


def test_it_is_made_with_few_queries(operator, services):
    incident()
    with CaptureQueriesContext(connection) as queries:
        assert operator.get(PAGE).status_code == 200
    assert len(queries) < 15
