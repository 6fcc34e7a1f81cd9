"""The register of exports and erasures says what was done, and what is left to do."""

import json

import pytest
from django.core.management import CommandError

from tests.admin.test_masking import MAIL
from tests.integration.test_erasing import call, ended_order
from tests.integration.test_persons import private_letter
from workers.models import Journal
from workers.privacy import persons, register


def test_what_was_kept_is_left_to_do_until_all_is_erased():
    ended_order()
    letter = private_letter()
    persons.export(MAIL, actor="operator:ann")
    with pytest.raises(CommandError):
        call("erase", MAIL, "--reason", "asked by post")

    erased, exported = register.read()
    assert (exported.what, exported.is_open) == ("person_exported", False)
    assert (erased.what, erased.is_open) == ("person_erased", True)
    assert erased.result["kept_rows"][0].startswith(f"Dead letter {letter.pk} is open.")
    assert "TO DO: erase again" in call("persons", MAIL)

    letter.delete()
    persons.erase(MAIL, actor="operator:ann", reason="asked by post")

    assert [line.is_open for line in register.read()] == [False, False, False]


def test_a_person_is_found_by_any_form_of_the_address_and_never_read():
    ended_order()
    persons.export(MAIL, actor="operator:ann")

    assert len(register.read(MAIL.upper())) == 1
    assert register.read("somebody.else@example.org") == []
    printed = call("persons", "--json")
    assert json.loads(printed)[0]["person"] == register.digest(MAIL)
    assert MAIL not in printed
    for row in Journal.objects.filter(event__startswith="person_"):
        assert MAIL not in json.dumps(row.detail)
