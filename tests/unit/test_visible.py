"""What is made visible of a text, and what is left as it is."""

import unicodedata

import pytest

from workers.runtime.visible_text import visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("one\ntwo\rthree\tfour\x00", "one\\ntwo\\rthree\\tfour\\u0000"),
        ("\x9b2J\x7f", "\\u009b2J\\u007f"),
        ("acme\u202egnp.exe\u202c", "acme\\u202egnp.exe\\u202c"),
        ("\u2066x\u2069 \u200fy\u200e", "\\u2066x\\u2069 \\u200fy\\u200e"),
        ("ac\u200bme\ufeff\u00ad\u2060", "ac\\u200bme\\ufeff\\u00ad\\u2060"),
        ("ac\u200cme acm\u200de", "ac\\u200cme acm\\u200de"),
        ("a\u2028b\u2029", "a\\u2028b\\u2029"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_steers_turns_or_hides_is_written_out(text, expected):
    assert visible(text) == expected
    assert visible(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Zoë Ångström",
        "שלום עולם",
        "مرحبا بالعالم",
        # Persian, with the joiner that its spelling needs; Hindi; a family.
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
        "東京 \\n {x} \\u202e",
    ],
)
def test_every_script_stays_readable(text):
    assert visible(text) == text


def test_no_control_and_no_format_character_is_passed_over():
    known = "\u200c\u200d"
    # Signs that are seen: numbers, verses and abbreviations of Arabic, Syriac and others.
    seen = {"Arabic", "Syriac", "Kaithi", "Egyptian", "Shorthand", "Musical"}
    missed = [
        f"{code:x}"
        for code in range(0x110000)
        if unicodedata.category(one := chr(code)) in ("Cc", "Cf", "Zl", "Zp", "Cs")
        and one not in known
        and visible(one) == one
    ]
    names = {one: unicodedata.name(chr(int(one, 16)), "") for one in missed}
    odd = {code for code, name in names.items() if name.split(" ")[0].title() not in seen}
    assert odd == set()


def test_what_is_kept_is_kept():
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\u001b"
