"""Guards against texts that no database holds, and addresses that nobody may have called."""

from tests.mutants.mutant import Mutant

_NEW = "workers/rules/new_processes.py"
_GUARD = "workers/http/ssrf_guard.py"
_POST = "workers/notify/senders/http_post.py"
_OF_TEXTS = ("tests/hostile/test_through_the_client.py",)
_OF_WAKE_UPS = ("tests/integration/test_wake_ups.py",)
_OF_POSTS = ("tests/reporting/test_webhook.py",)
_OF_URLS = (
    "tests/reporting/test_submitting.py::test_a_webhook_s_address_is_public_and_plain_or_refused",
)

MUTANTS = (
    Mutant(
        "a name is looked up without its last dot",
        _GUARD,
        'name = host.removesuffix(".")',
        "name = host",
        "A client has this machine called by a name that no resolver's file has.",
        _OF_URLS,
    ),
    Mutant(
        "a deadline that has passed is refused",
        _NEW,
        "process.deadline_at <= now:",
        "False:",
        "An order is taken that the next sweep undoes.",
        ("tests/integration/test_submitting_many.py",),
    ),
    Mutant(
        "a subject that no database holds is refused",
        _NEW,
        '    storable_text.check("subject", subject, LONGEST_SUBJECT)\n',
        "",
        "A caller's transaction is lost to a database's word for it.",
        _OF_TEXTS,
    ),
    Mutant(
        "an input that no database holds is refused",
        _NEW,
        'if "\\\\u0000" in text or "\\\\ud" in text:',
        "if False:",
        "A NUL in an order loses the transaction that it is in.",
        _OF_TEXTS,
    ),
    Mutant(
        "who submits can be stored",
        "workers/client/submission.py",
        '    storable_text.check("actor", actor)\n',
        "",
        "A name that cannot be stored loses the caller's transaction.",
        _OF_TEXTS,
    ),
    Mutant(
        "who acts and why can be stored",
        "workers/store/operate/steering.py",
        "    storable_text.check_all(actor=actor, reason=reason)\n",
        "",
        "A reason that cannot be stored ends in a page without words.",
        _OF_TEXTS,
    ),
    Mutant(
        "who makes a job and why can be stored",
        "workers/desk/store/jobs.py",
        """got {verb!r}.")
    storable_text.check_all(actor=actor, reason=reason)
""",
        """got {verb!r}.")
""",
        "A job that cannot be journalled is half made.",
        _OF_TEXTS,
    ),
    Mutant(
        "an alert is not lost for its words",
        "workers/store/alerts.py",
        'dialect.typed("json", storable_value(call.params))',
        'dialect.typed("json", call.params)',
        "Nobody is told of a fault whose message has a NUL.",
        _OF_TEXTS,
    ),
    Mutant(
        "a private address is not called",
        _GUARD,
        "        if not all(map(is_public, addresses)):\n",
        "        if False:\n",
        "A client has us call our own network.",
        _OF_POSTS,
    ),
    Mutant(
        "the address that was looked at is the one that is called",
        _GUARD,
        "super().connect_tcp(address, port,",
        "super().connect_tcp(host, port,",
        "A name that changes its address in between leads into our network.",
        _OF_POSTS,
    ),
    Mutant(
        "a private address is refused when it is named",
        _GUARD,
        "if not sas.webhook_private_addresses and not all(map(is_public, _look_up_in_time(name))):",
        "if False:",
        "An order is taken whose submitter can never be told.",
        _OF_URLS,
    ),
    Mutant(
        "an address that is wrapped in another is looked at",
        "workers/http/public_networks.py",
        "if any(address in network for network in EMBEDDING):",
        "if False:",
        "::ffff:10.0.0.1 leads into our network.",
        ("tests/unit/test_networks.py",),
    ),
    Mutant(
        "nothing is told without encryption",
        _POST,
        "if is_plain and not sas.webhook_private_addresses:",
        "if False:",
        "What a route is told can be read on its way.",
        _OF_POSTS,
    ),
    Mutant(
        "no redirect is followed",
        _POST,
        "    if 300 <= status <= 399:\n",
        "    if 300 <= status <= 399:\n        return\n    if False:\n",
        "A message that nobody got counts as told.",
        _OF_POSTS,
    ),
    Mutant(
        "an answer is read to a bound",
        _POST,
        "            if length > LARGEST_ANSWER:\n                break\n",
        "",
        "A receiver that answers without end holds a relay.",
        _OF_POSTS,
    ),
    Mutant(
        "a call has a total deadline",
        _POST,
        '"write": end, "read": end}',
        '"write": end + 3600, "read": end + 3600}',
        "A receiver that is slow holds a relay for an hour.",
        _OF_POSTS,
    ),
    Mutant(
        "a hint follows the commit",
        "workers/wire/wake_ups.py",
        "    transaction.on_commit(send, robust=True)\n",
        "    send()\n",
        "A Scheduler looks before there is something to see, and the order waits for the poll.",
        _OF_WAKE_UPS,
    ),
    Mutant(
        "a verb that changed nothing wakes nobody",
        "workers/wire/wake_ups.py",
        "        if result is not False:\n            wake()\n",
        "        wake()\n",
        "Each second click costs a message and a look.",
        _OF_WAKE_UPS,
    ),
    Mutant(
        "a verb wakes whom it leaves something to do",
        "workers/client/operations.py",
        "@_waking\ndef resubmit(",
        "def resubmit(",
        "What an operator resubmits waits for the poll.",
        ("tests/guard/test_wake_ups.py",),
    ),
    Mutant(
        "an input is a dict",
        _NEW,
        "if not isinstance(document, dict):",
        "if False:",
        "A null as input breaks the transaction of whoever submits.",
        ("tests/unit/test_new_processes.py",),
    ),
    Mutant(
        "a priority is a whole number",
        _NEW,
        "if not isinstance(priority, int):",
        "if False:",
        "A priority that is a word is refused without its name.",
        ("tests/unit/test_new_processes.py",),
    ),
    Mutant(
        "a router leaves the engine's reads to the default database",
        "workers/checks/databases.py",
        "(router.db_for_write, router.db_for_read)",
        "(router.db_for_write,)",
        "A verb decides on what a replica had some time ago.",
        ("tests/integration/test_installing.py",),
    ),
    Mutant(
        "a count has no fraction",
        "workers/conf.py",
        "if number % 1:",
        "if False:",
        "A window of 12.5 means 12, and nobody is told.",
        ("tests/unit/test_conf.py",),
    ),
)
