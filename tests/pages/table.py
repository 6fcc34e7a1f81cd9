"""What a reader of each page must know, have or do beyond its text."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.pages import acts
from tests.pages.reader import Page, Reader

HOW_TO_WORKFLOW = "tests/guard/test_how_to_workflow.py"
README_CODE = "tests/guard/test_readme_code.py"
LEAST_PRIVILEGE = "tests/acceptance/test_least_privilege.py"
HOST = "shop.example.org"
SANDBOX = "http://127.0.0.1:8900"
WEB = "http://127.0.0.1:8000"
SECRET = "it-is-long-and-nobody-else-knows-it-" * 2

ORDER = """
import uuid
from django.utils import timezone
from orders.models import Order
from orders.submission import Customer, Line, place_order
from workers.supervisor import beat_schedule
from workers.exceptions import Permanent, Unavailable
from workers.testing import always, runs, scripted, wired

beat_schedule.ensure_flow()
order, _ = place_order(
    Customer("Ada", "ada@example.org", "1 Mill Lane"), [Line("SKU-001", {quantity})],
    submission_key=uuid.uuid4().hex, source=Order.Source.SHOP,
)
with wired() as wire, scripted({script}, otherwise={{}}):
    wire.run_until_idle()
order.process.refresh_from_db()
print(order.process.state, order.number)
"""
#: What becomes of an order: quantity of its line, what agents answer, and the state it is then in.
KINDS = {
    "processed": (1, "{}", "processed"),
    "in error": (1, "{'payment.charge': [always(Permanent('broken', 'no'))]}", "error"),
    "waiting for a review": (150, "{'review.ask': [runs]}", "processing"),
    "waiting for a carrier": (
        1,
        "{'shipping.book': [always(Unavailable('http_503', 'busy', retry_after=900))]}",
        "processing",
    ),
    "processed without its mail": (
        1,
        "{'confirmation.send': [always(Permanent('smtp', 'no', no_effect=True))]}",
        "processed",
    ),
    "waiting to send its mail": (
        1,
        "{'confirmation.send': [always(Unavailable('smtp', 'busy', retry_after=900))]}",
        "processing",
    ),
}
DEAD_LETTERS = """
import json
from django.utils import timezone
from orders.models import DeadLetter

body = {
    "customer": {"name": "Ada", "email": "ada@example.org", "address": "1 Mill Lane"},
    "lines": [{"sku": "SKU-001", "quantity": 2}],
}
letters = [
    DeadLetter.objects.create(
        received_at=timezone.now(), message_id=f"m-{n}", client="acme",
        properties={"message_id": f"m-{n}", "sender": sender},
        body=json.dumps(body).encode(), reasons=[{"field": "lines", "problem": "sold out"}],
    )
    for n, sender in enumerate(["proven", "proven", "proven", "claimed"])
]
print([letter.pk for letter in letters])
"""
SINK = """
from django.utils import timezone
from workers.models import Sink

sink = Sink.objects.create(
    process=order.process, kind="webhook", address="https://acme.example.org/", last=1,
    owner="client:acme", state="undeliverable", next_try_at=timezone.now(),
)
print(sink.pk)
"""


def an_order(kind: str) -> Callable[[Reader], None]:
    """Have an order of that kind, and take its number for NUMBER."""
    quantity, script, wanted = KINDS[kind]

    def have(reader: Reader) -> None:
        said = reader.python(ORDER.format(quantity=quantity, script=script), f"an order {kind}")
        state, number = said.split()
        assert state == wanted, f"an order {kind} is {state}"
        reader.replace["NUMBER"] = number

    return have


def a_paused_order(reader: Reader) -> None:
    an_order("waiting for a review")(reader)
    number = reader.replace["NUMBER"]
    reader.terminal.run(f"python manage.py order pause {number} --reason 'before'")


def everything_running(reader: Reader) -> None:
    for command in (
        "python manage.py sandbox --port {}".format(reader.replace[SANDBOX].rpartition(":")[2]),
        "celery -A sasproject worker",
        "celery -A sasproject beat",
    ):
        reader.terminal.start(command)


def the_site_running(reader: Reader) -> None:
    port = reader.replace[WEB].rpartition(":")[2]
    command = f"python manage.py runserver --noreload {port}"
    reader.terminal.start(command, int(port))


def the_token_taken(reader: Reader) -> None:
    reader.terminal.run(f"TOKEN={reader.said.split()[-1]}")


def said(words: str) -> Callable[[Reader], None]:
    def see(reader: Reader) -> None:
        assert words in reader.said, f"{words} is not in: {reader.said}"

    return see


def an_app(reader: Reader) -> None:
    reader.terminal.run("python manage.py startapp trips")
    settings = reader.terminal.folder / "sasproject" / "settings.py"
    settings.write_text(settings.read_text() + 'INSTALLED_APPS += ["trips"]\n')


def an_undeliverable_sink(reader: Reader) -> None:
    an_order("processed")(reader)
    reader.replace["4711"] = reader.python(SINK).strip()


def four_dead_letters(reader: Reader) -> None:
    reader.terminal.run("python manage.py client add acme")
    found = json.loads(reader.python(DEAD_LETTERS).strip())
    reader.replace.update(zip(("17", "18", "19", "20"), map(str, found), strict=True))


def the_job_taken(reader: Reader) -> None:
    reader.replace["NUMBER"] = reader.said.split()[-1]


PAGES = [
    Page(
        "docs/how-to/act-on-many.md",
        before={
            "python manage.py sas jobs start resubmit --step charge_payment --dry-run": an_order(
                "in error"
            )
        },
        after={
            "python manage.py sas jobs start resubmit --step charge_payment --rate": the_job_taken
        },
    ),
    Page("docs/how-to/add-a-workflow.md", elsewhere={"python": HOW_TO_WORKFLOW}),
    Page(
        "docs/how-to/audit-what-people-did.md",
        after={"python manage.py sas incidents --hand-over": said("Hand-over, ")},
    ),
    Page(
        "docs/how-to/be-told.md",
        not_run=2,
        after={"python manage.py sas routes test": said("Sent to on-call")},
    ),
    Page(
        "docs/how-to/have-a-person-approve.md",
        elsewhere={"python": HOW_TO_WORKFLOW},
        before={"python manage.py order answer": an_order("waiting for a review")},
    ),
    Page(
        "docs/how-to/limit-what-processes-may-do.md",
        elsewhere={"sql": LEAST_PRIVILEGE, "sh": LEAST_PRIVILEGE},
    ),
    Page(
        "docs/how-to/look-after-an-installation.md",
        before={"python manage.py sas doctor": everything_running},
    ),
    Page(
        "docs/how-to/receive-statuses.md",
        elsewhere={"python": "tests/queue_door/test_how_to.py"},
        before={"python manage.py sas sinks list": an_undeliverable_sink},
    ),
    Page(
        "docs/how-to/receive-webhooks.md",
        before={"# trips/agents.py": an_app, "id=": the_site_running},
        after={"curl -i": said('"outcome": "ignored"')},
    ),
    Page(
        "docs/how-to/restore-a-database.md",
        not_run=2,
        replace={
            "2026-11-21T09:30:00+00:00": (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
        },
    ),
    Page(
        "docs/how-to/run-in-production.md",
        is_on_servers=True,
        after={"gunicorn": acts.see_the_site(HOST)},
    ),
    Page("docs/how-to/trace-orders.md", not_run=1),
    Page("docs/how-to/watch-with-prometheus.md", not_run=1),
    Page(
        "docs/how-to/steer-an-order.md",
        before={
            "python manage.py order resubmit": an_order("in error"),
            "python manage.py order redo": an_order("processed without its mail"),
            "python manage.py order cancel": an_order("waiting for a review"),
            "python manage.py order begin-again": an_order("in error"),
            "python manage.py order pause": an_order("waiting for a review"),
            "python manage.py order resume": a_paused_order,
            "python manage.py order retry": an_order("waiting for a carrier"),
            "python manage.py order retime": an_order("waiting for a carrier"),
            "python manage.py order postpone": an_order("waiting for a carrier"),
            "python manage.py order complete": an_order("waiting for a carrier"),
            "python manage.py order skip": an_order("waiting to send its mail"),
            "python manage.py order edit": an_order("waiting for a review"),
            "python manage.py order return": an_order("processed"),
        },
        replace={"2026-12-01T09:00:00+00:00": (datetime.now(UTC) + timedelta(days=1)).isoformat()},
    ),
    Page(
        "docs/how-to/submit-by-http.md",
        before={"curl -i": the_site_running},
        after={"python manage.py client add": the_token_taken, "curl -i": said("201 Created")},
    ),
    Page(
        "docs/how-to/submit-by-queue.md",
        elsewhere={
            "python": "tests/queue_door/test_how_to.py",
            "js": "tests/queue_door/test_strangers.py",
            "sh: rabbitmqctl": "tests/queue_door/test_strangers.py",
        },
        before={"python manage.py dead_letters list": four_dead_letters},
    ),
    Page(
        "docs/how-to/run-on-a-schedule.md",
        elsewhere={"python": "tests/guard/test_how_to_schedule.py"},
    ),
    Page(
        "docs/how-to/submit-from-a-django-view.md",
        elsewhere={"python": "tests/guard/test_how_to_submit.py"},
    ),
    Page(
        "docs/how-to/run-a-list.md",
        elsewhere={"python": "tests/guard/test_how_to_run_a_list.py"},
    ),
    Page(
        "docs/how-to/limit-each-key.md",
        elsewhere={"python": "tests/guard/test_how_to_limit_each_key.py"},
    ),
    Page(
        "docs/how-to/submit-once.md",
        elsewhere={"python": "tests/guard/test_how_to_submit_once.py"},
    ),
    Page(
        "docs/how-to/test-a-workflow.md", elsewhere={"python": "tests/testing_kit/test_how_to.py"}
    ),
    Page(
        "docs/how-to/test-crashes.md",
        not_run=1,
        elsewhere={"python": "tests/testing_kit/test_how_to_crashes.py"},
    ),
    Page("docs/how-to/install-into-your-project.md", not_run=7),
    Page("docs/how-to/tune-the-flow.md", elsewhere={"python": HOW_TO_WORKFLOW}),
    Page("docs/how-to/use-a-celery-task.md", elsewhere={"python": HOW_TO_WORKFLOW}),
    Page("docs/how-to/wait-for-an-answer.md", elsewhere={"python": HOW_TO_WORKFLOW}),
]


ASK_A_PERSON = Page(
    "docs/tutorial/ask-a-person.md",
    before={"python manage.py sas process show": acts.wait_for_the_question},
    after={
        "from django.db import transaction": acts.take_the_printed_number,
        "python manage.py sas process answer": acts.see_the_trip_processed,
    },
)


def of(path: str) -> Page:
    """Return what is known of a page: nothing, of most."""
    return next((page for page in PAGES if page.path == path), Page(path))


def readme(clone: str) -> Page:
    """Return what is known of README, whose first line makes the clone: without pip."""
    return Page(
        "README.md",
        is_in_sections=True,
        elsewhere={"python": README_CODE},
        replace={"git clone <this repository> && cd <its folder>": clone},
        before={"python manage.py order show": acts.order_something_small_and_something_large},
        after={"make demo": acts.wait_for_the_log("make demo", "Shop: http")},
    )
