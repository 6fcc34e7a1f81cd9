"""What is personal in documents and texts is masked, and nothing else."""

import pytest

from workers.rules import masks
from workers.rules.masks import WHOLE, Eraser, Mask

NAME, MAIL, ADDRESS = "Zelda Quuxmore", "zelda.quuxmore@example.org", "77 Hidden Lane\nNowhereville"
CUSTOMER = {"name": NAME, "email": MAIL, "address": ADDRESS}


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("ada@example.org", "a***@example.org"),
        (" ada@example.org ", "a***@example.org"),
        ("Ada Lovelace", "A***"),
        ("朝子", "***"),
        # What was erased already.
        ("***", "***"),
        ("12 St James Square\nLondon", "1***"),
        ("not@a mail", "n***"),
        ("", ""),
        ("   ", "   "),
    ],
)
def test_a_personal_text_keeps_its_first_letter_and_a_mail_its_domain(text, mask):
    assert masks.masked(text) == mask


def test_what_was_declared_is_masked_with_all_below_it():
    document = {
        "number": 5,
        "customer": {"name": NAME, "age": 40, "tags": ["vip"], "is_new": True, "note": None},
        "lines": [{"sku": "A", "name": "lamp"}],
    }
    assert Mask(["customer"]).value(document) == {
        "number": 5,
        "customer": {"name": "Z***", "age": "***", "tags": ["v***"], "is_new": True, "note": None},
        "lines": [{"sku": "A", "name": "lamp"}],
    }


def test_a_path_is_found_in_documents_that_hold_others_parts():
    mask = Mask(["customer.address"])
    changes = {"changes": {"customer.address": [ADDRESS, "new"], "address": ["x", "y"]}}
    assert mask.value(changes) == {
        "changes": {"customer.address": ["7***", "n***"], "address": ["x", "y"]}
    }
    # A name that only ends alike is another one.
    assert mask.value({"xcustomer": {"address": "here"}}) == {"xcustomer": {"address": "here"}}


def test_text_that_repeats_personal_input_is_masked():
    mask = Mask(["customer"], [{"customer": CUSTOMER}])
    said = f"no such street: 77 hidden lane, for {NAME} ({MAIL})"
    assert mask.text(said) == "no such street: 7***, for Z*** (z***@example.org)"
    # No part of another word, and no text that is too short to be anybody's.
    assert Mask(["n"], [{"n": "Ann"}]).text("Annual") == "Annual"
    assert Mask(["n"], [{"n": "it"}]).text("it is") == "it is"


def test_a_mail_is_masked_wherever_it_stands():
    assert Mask().text("to bob@shop.example, please") == "to b***@shop.example, please"


@pytest.mark.parametrize("mail", ["o'brien@shop.example", "o#1&2@shop.example"])
def test_mail_with_signs_is_masked_whole(mail):
    assert Mask().text(f"to '{mail}'") == "to 'o***@shop.example'"


@pytest.mark.parametrize("document", [None, 5, True, "text", [], {}, [[{"a": None}]]])
def test_a_document_without_anything_personal_stays_what_it_is(document):
    assert Mask(["customer"], [document]).value(document) == document


def test_of_what_is_personal_as_a_whole_a_record_tells_all_but_what_was_changed():
    mask = Mask([WHOLE], [{"street": "Elm Road 5"}])
    detail = {
        "code": "http_400",
        "reason": "asked by mail",
        "message": "no such place: Elm Road 5",
        "changes": {"address": ["Oak Road 1", "Oak Road 2"]},
    }

    assert mask.record(detail) == {
        "code": "http_400",
        "reason": "asked by mail",
        "message": "no such place: E***",
        "changes": {"address": ["O***", "O***"]},
    }


@pytest.mark.parametrize("name", ["김철수", "王小明", "山田 太郎", "ヤマダ タロウ", "\U00020000明"])
def test_of_an_east_asian_name_not_even_the_first_character_is_left(name):
    assert masks.masked(name) == "***"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("王小明的订单被拒绝", "***的订单被拒绝"),
        ("고객 김철수님께 연락", "고객 ***님께 연락"),
        ("李白 has called", "*** has called"),
        ("Order of 王小明.", "Order of ***."),
    ],
)
def test_an_east_asian_name_is_found_between_other_characters(text, left):
    names = ["王小明", "김철수", "李白"]
    assert Mask(["name"], [{"name": name} for name in names]).text(text) == left


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("山田太郎", "太郎様からお電話", "***様からお電話"),
        ("山田太郎", "山田様、返金", "***様、返金"),
        ("山田 太郎", "山田太郎様", "***様"),
        ("山田\u3000太郎", "太郎様", "***様"),
        ("佐々木慎太郎", "慎太郎様と佐々木様", "***様と***様"),
        ("김철수", "철수님께 연락", "***님께 연락"),
        ("王小明", "小明说", "***说"),
        ("ジョン・スミス", "スミス様", "***様"),
        ("Zelda Quuxmore", "Zelda called, Ms Quuxmore did", "Z*** called, Ms Q*** did"),
        ("Will O'Brien", "he will call Will, not O'Brien", "he will call W***, not O***"),
    ],
)
def test_part_of_a_personal_name_is_masked_in_text(name, text, left):
    assert Mask(["name"], [{"name": name}]).text(text) == left


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # An address and a sentence are no names, and of one word there is no part.
        ("12 Hidden Lane", "the Lane is closed"),
        ("Leave it with the neighbour please", "the neighbour rang, please wait"),
        ("ジョンソン", "ジョブ 5"),
        ("東京都渋谷区道玄坂", "東京 is late"),
        ("Al Li", "Al came"),
    ],
)
def test_what_is_no_name_has_no_parts(value, text):
    assert Mask(["x"], [{"x": value}]).text(text) == text


def test_one_east_asian_character_is_no_word_to_look_for():
    assert Mask(["name"], [{"name": "王"}]).text("国王的订单") == "国王的订单"


@pytest.mark.parametrize("line", ["2026", "18.50", "7", "1110,00", "Payment", "permanent", "ann"])
@pytest.mark.parametrize("kind", [Mask, Eraser])
@pytest.mark.parametrize("path", ["customer", "step", WHOLE])
def test_what_the_engine_wrote_stays_whatever_a_person_is_called(line, kind, path):
    record = {
        "step": "payment",
        "agent": "payment.charge",
        "locked_by": "ann@host-7",
        "asked_by": "operator:ann",
        "claimed_at": "2026-11-29T23:35:02.000007+00:00",
        "amount": "1110.00",
        "fault": {"kind": "permanent", "code": "payment", "at": "2026-11-29T23:35:02+00:00"},
        "answer": {"fault": {"kind": "permanent"}},
        "undo": ["payment"],
    }
    mask = kind([path], [{"customer": {"address": line}, "step": line}])
    assert mask.record(record) == record


@pytest.mark.parametrize("number", ["2026", "18.50", "1110,00"])
def test_short_number_or_amount_is_hidden_at_its_own_path_only(number):
    eraser = Eraser(["customer"], [{"customer": {"address": f"1 Road\n{number}"}}])
    document = {"price": number, "customer": {"address": number}, "at": f"{number}-11-29T23:35"}
    assert eraser.value(document) == {**document, "customer": {"address": "***"}}
    # A longer one is somebody's: a telephone number, a postcode of seven digits.
    longer = Eraser(["phone"], [{"phone": "0155501999"}])
    assert longer.text("call 0155501999") == "call ***"
