"""What the doctor finds is kept as sentences with parameters, and worded for who reads it."""

import ast
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from tests.admin.conftest import staff
from workers.definitions import sentences
from workers.definitions.sentences import changed, in_words, kept, say_names
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.desk.operate import rounds
from workers.desk.store import probe_results
from workers.desk.store.probe_results import ProbeOutcome
from workers.desk.texts import alert_texts
from workers.models import Alert
from workers.ops.doctor import Finding, Need, error
from workers.ops.doctor.registry import Probe
from workers.ops.doctor.secrets import masked

PAGE = "/admin/desk/proberesult/"
NOBODY = "the queue %(name)s has no consumer"
#: What says a finding; its texts are to be marked for translation.
LEVELS = {"ok", "info", "warning", "error"}


@pytest.fixture
def elsewhere(monkeypatch) -> None:
    """Have the reader's language be one in which a queue is read by nobody in other words."""
    real = sentences.gettext
    words = {NOBODY: "%(name)s: personne", "lost": "perdu"}
    monkeypatch.setattr(sentences, "gettext", lambda text: words.get(text) or real(text))


@pytest.fixture
def viewer(db) -> Client:
    return staff("viewer")


def unread() -> list[Finding]:
    return [error(_(NOBODY, name="sas.reports"), _("lost"), "own words, 100 %")]


def test_a_finding_is_kept_as_it_can_be_worded_anew():
    (look,) = rounds.look([Probe("queues", "are_read", unread, Need.TABLES)])
    (finding,) = json.loads(json.dumps(look.findings))
    assert finding == {
        "level": "error",
        "what": {"text": NOBODY, "params": {"name": "sas.reports"}},
        "why": {"text": "lost", "params": {}},
        "remedy": "own words, 100 %",
    }


def said_by_the_alert() -> str:
    row = Alert.objects.get()
    return alert_texts.message(row.code, row.params, row.message)


@pytest.mark.django_db
def test_the_page_and_the_alert_are_in_the_reader_s_words(viewer, elsewhere):
    look = ProbeOutcome("queues.are_read", "error", [one.kept() for one in unread()])
    for _time in range(2):
        probe_results.keep([look], timezone.now())
    said = viewer.get(PAGE).content.decode()
    for text in ("sas.reports: personne", "perdu", "own words, 100 %"):
        assert text in said, text
    assert said_by_the_alert() == "queues.are_read: sas.reports: personne. perdu"


@pytest.mark.django_db
def test_a_row_of_a_version_before_is_shown_as_it_is(viewer, elsewhere):
    old = {"level": "error", "what": "100 % of it", "why": "lost", "remedy": ""}
    for _time in range(2):
        probe_results.keep([ProbeOutcome("shop.press", "error", [old])], timezone.now())
    said = viewer.get(PAGE).content.decode()
    assert "100 % of it" in said
    assert "perdu" not in said
    assert said_by_the_alert() == "shop.press: 100 % of it. lost"


@pytest.mark.django_db
def test_the_terminal_has_words_too(elsewhere, monkeypatch):
    probe = Probe("queues", "are_read", unread, Need.NOTHING)
    monkeypatch.setattr("workers.ops.doctor.probes", lambda: [probe])
    for more in ((), ("--json",)):
        out = StringIO()
        with pytest.raises(SystemExit):
            call_command("sas", "doctor", *more, stdout=out)
        assert "sas.reports: personne" in out.getvalue()


def test_sentences_have_sentences_in_them_and_count():
    many = ngettext("%(n)d probe: %(lack)s", "%(n)d probes: %(lack)s", 2, lack=_("it is gone"))
    assert many == in_words(kept(many)) == in_words(many) == "2 probes: it is gone"
    assert in_words(ngettext("%(n)d probe", "%(n)d probes", 1)) == "1 probe"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, "n0"),
        (12, "n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11"),
        (552, "n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11 and 540 more"),
    ],
)
def test_a_line_names_a_few_and_counts_the_others(count, said):
    names = say_names([f"n{n}" for n in range(count)])
    assert names == in_words(_("%(names)s", names=names)) == said


def test_what_came_from_elsewhere_is_masked_wherever_it_stands():
    url = "amqp://shop:hunter22@mq/shop"
    text = _("%(url)s %(problem)s", url=url, problem=_("failed: %(url)s", url=url))
    for one in (text, url):
        assert "hunter22" not in json.dumps(kept(changed(one, masked)))
        assert "hunter22" not in changed(one, masked)


def test_every_text_of_a_probe_of_ours_is_marked_for_translation():
    bare = [
        f"{path}:{text.lineno}"
        for folder in ("workers/ops/doctor", "orders/doctor")
        for path in Path(folder).glob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in LEVELS
        for text in call.args
        if isinstance(text, ast.JoinedStr) or (isinstance(text, ast.Constant) and text.value)
    ]
    assert bare == []
