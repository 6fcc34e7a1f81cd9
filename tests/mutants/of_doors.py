"""Guards against what strangers, brokers and environments do at the doors."""

from tests.mutants.mutant import Mutant

_TURNS = "orders/consumer/turns.py"
_LETTERS = "orders/dead_letters.py"
_LIMITS = "orders/rate_limits.py"
_REASONS = "workers/rules/wait_reasons.py"
_OF_TURNS = ("tests/queue_door/test_turns.py",)
_OF_LETTERS = ("tests/queue_door/test_bounds.py", "tests/queue_door/test_dead_letters.py")
_OF_LIMITS = ("tests/shop/test_my_orders.py",)
_OF_REASONS = ("tests/admin/test_explaining.py",)


def _order(
    guard: str, first: str, then: str, prevents: str, *, before: str = "", after: str = ""
) -> Mutant:
    """Swap two reasons that stand one after the other, ``before`` and ``after`` them others."""
    between = "\n        or "
    head = f"{before}{between}" if before else ""
    tail = f"{between}{after}" if after else ""
    return Mutant(
        guard,
        _REASONS,
        f"{head}{first}{between}{then}{tail}\n",
        f"{head}{then}{between}{first}{tail}\n",
        prevents,
        _OF_REASONS,
    )


_STOPPED = "_stopped(row, process)"
_HELD = "held(row, facts)"
_SILENCE = "_because(silence(facts.poll, now))"
_UNKNOWN = "unknown_code(row.agent, process, facts)"
_TIME = "_not_before(row, now, facts)"
_ROOM = "_no_room(row, now, facts)"

MUTANTS = (
    Mutant(
        "a switch is on or off",
        "sasproject/variables.py",
        "        if is_on is None:\n",
        "        if False:\n",
        "DJANGO_DEBUG=maybe means something.",
        ("tests/stack/test_refusals.py::test_a_switch_that_is_neither_is_refused",),
    ),
    Mutant(
        "an empty variable is not set",
        "workers/conf.py",
        "os.environ.get(name) or None",
        "os.environ.get(name)",
        "SAS_WINDOW= in an environment file keeps every process from starting.",
        ("tests/stack/test_empty_variables.py",),
    ),
    Mutant(
        "what a library says of a variable is one line with its name",
        "sasproject/variables.py",
        '            f"{name} cannot be used: {why.splitlines()[0]}. {remedy}"\n',
        "            why\n",
        "A wrong EMAIL_URL ends in a library's word for it.",
        (
            "tests/stack/test_refusals.py::test_what_a_library_says_of_a_variable_gets_its_name_and_a_remedy",
        ),
    ),
    Mutant(
        "a database is PostgreSQL or SQLite",
        "sasproject/databases.py",
        'url.partition("://")[0] not in SCHEMES',
        "False",
        "DATABASE_URL=mysql://... asks for a package.",
        ("tests/stack/test_refusals.py::test_a_database_s_url_is_refused_without_its_password",),
    ),
    Mutant(
        "a database's URL can be read",
        "sasproject/databases.py",
        '    with refused("DATABASE_URL", "Give one such as postgres://user:password@host:5432/name."):\n',
        "    if True:\n",
        "A port that is no number ends in a traceback.",
        ("tests/stack/test_refusals.py::test_a_database_s_url_is_refused_without_its_password",),
    ),
    Mutant(
        "a broker is of a proven kind",
        "sasproject/brokers.py",
        "url and scheme not in SCHEMES",
        "False",
        "BROKER_URL=kafka://... ends in a NameError of a library.",
        ("tests/stack/test_refusals.py::test_a_broker_of_a_kind_that_is_not_supported_is_refused",),
    ),
    Mutant(
        "a broker's URL can be read",
        "sasproject/brokers.py",
        "            parse_url(part)\n",
        "            str(part)\n",
        "The consumer tries a port that is no number for ever.",
        ("tests/stack/test_refusals.py::test_a_broker_s_url_that_cannot_be_read_is_refused",),
    ),
    Mutant(
        "a level is one of logging's",
        "sasproject/logs.py",
        "level not in logging.getLevelNamesMapping()",
        "False",
        "SAS_LOG_LEVEL=LOUD ends in a traceback.",
        ("tests/stack/test_refusals.py::test_a_level_that_does_not_exist_is_refused",),
    ),
    Mutant(
        "a refused login ends a process at its start",
        "orders/consumer/loop.py",
        "None if self._was_let_in else broker_login.refusal(error)",
        "None",
        "A consumer with a wrong password tries for ever.",
        ("tests/queue_door/test_loop.py",),
    ),
    Mutant(
        "a login that is refused later is waited for",
        "orders/consumer/loop.py",
        "None if self._was_let_in else broker_login.refusal(error)",
        "broker_login.refusal(error)",
        "A virtual host that is made anew ends every consumer.",
        ("tests/queue_door/test_loop.py",),
    ),
    Mutant(
        "a closed virtual host is a refused login",
        "workers/celery/broker_login.py",
        "(AccessRefused, NotAllowed)",
        "(AccessRefused,)",
        "A worker without permissions waits for ever.",
        (
            "tests/stack/test_refused_login.py"
            "::test_a_refused_login_is_known_wherever_it_stands_in_a_chain",
        ),
    ),
    Mutant(
        "every 503 says when to come again",
        "sasproject/middleware.py",
        "response.status_code == 503",
        "False",
        "Clients of an outage come again all at once.",
        ("tests/api/test_database_away.py", "tests/receiving/test_door.py"),
    ),
    Mutant(
        "an outage is one line of the log",
        "sasproject/logs.py",
        "db_connections.is_outage(cause) or isinstance(cause, BROKER_AWAY)",
        "False",
        "A failover fills the log with tracebacks.",
        ("tests/acceptance/test_logs.py",),
    ),
    Mutant(
        "a statement that failed is no outage",
        "workers/runtime/db_connections.py",
        '    return not sqlstate(error).startswith(("40", "55", "57014"))\n',
        "    return True\n",
        "Nobody learns which statement a deadlock struck.",
        ("tests/acceptance/test_logs.py",),
    ),
    Mutant(
        "a sender's dead letters are bounded",
        _LETTERS,
        'totals["count"] < MOST_OPEN and ',
        "",
        "One sender fills the table of dead letters.",
        _OF_LETTERS,
    ),
    Mutant(
        "the bytes of a sender's dead letters are bounded",
        _LETTERS,
        ' and (totals["size"] or 0) < MOST_OPEN_BYTES',
        "",
        "One sender fills the disk with a few thousand large messages.",
        _OF_LETTERS,
    ),
    Mutant(
        "dead letters are bounded by sender",
        _LETTERS,
        "state=State.OPEN, sender=sender)",
        "state=State.OPEN)",
        "One sender's rubbish keeps others' from being kept.",
        _OF_LETTERS,
    ),
    Mutant(
        "what may be a good order is kept however many there are",
        _LETTERS,
        " or (proven and is_our_fault)",
        "",
        "A good order that met a fault of ours is lost.",
        _OF_LETTERS,
    ),
    Mutant(
        "what is not kept is counted",
        _LETTERS,
        'count=F("count") + 1',
        'count=F("count")',
        "Nobody learns how much was not kept.",
        _OF_LETTERS,
    ),
    Mutant(
        "senders have their turns",
        _TURNS,
        "            self._lanes.move_to_end(name)\n",
        "            pass\n",
        "All messages of one sender come before the first of another.",
        _OF_TURNS,
    ),
    Mutant(
        "those who are not proven share one turn",
        _TURNS,
        "self._known.get(_credential_digest(message), UNKNOWN)",
        "_credential_digest(message).hex()",
        "A stranger with a thousand names has a thousand turns.",
        _OF_TURNS,
    ),
    Mutant(
        "what waits joins its sender once that is proven",
        _TURNS,
        "if is_new and UNKNOWN in self._lanes:",
        "if False:",
        "A proven sender's messages wait among strangers'.",
        _OF_TURNS,
    ),
    Mutant(
        "senders that are remembered are bounded",
        _TURNS,
        "len(self._known) > MOST_KNOWN",
        "False",
        "A consumer's memory grows with every token it has seen.",
        _OF_TURNS,
    ),
    Mutant(
        "a login counts where the broker has compared it",
        _TURNS,
        'message.text("user_id") if message.is_user_proven else ""',
        'message.text("user_id")',
        "Whoever writes another's name takes turns from them.",
        _OF_TURNS,
    ),
    Mutant(
        "a limit is a limit",
        _LIMITS,
        "_count(limit, subject, at) > limit.most",
        "_count(limit, subject, at) > limit.most + 1",
        "Strangers ask once more than they may.",
        _OF_LIMITS,
    ),
    Mutant(
        "nothing is counted after a limit that is exceeded",
        _LIMITS,
        "    for limit, subject in limits:\n"
        "        if _count(limit, subject, at) > limit.most:\n"
        "            return limit\n"
        "    return None\n",
        "    counts = [(limit, _count(limit, subject, at)) for limit, subject in limits]\n"
        "    return next((limit for limit, count in counts if count > limit.most), None)\n",
        "Strangers make a row of every address they think of.",
        _OF_LIMITS,
    ),
    Mutant(
        "a period's count ends with it",
        _LIMITS,
        'When(period=period, then=F("count") + 1), default=Value(1)',
        'When(count__gte=0, then=F("count") + 1), default=Value(1)',
        "Who has asked five times is locked out for good.",
        _OF_LIMITS,
    ),
    Mutant(
        "a client has its minute",
        "workers/views/throttling.py",
        "    if sent > per_minute:\n",
        "    if False:\n",
        "One client's loop takes all web processes.",
        ("tests/api/test_access.py",),
    ),
    Mutant(
        "a provider of webhooks has its minute",
        "workers/views/webhooks.py",
        '        throttling.count(f"webhooks:{provider.name}", provider.per_minute)\n',
        "",
        "One service's storm takes all web processes.",
        ("tests/receiving/test_door.py",),
    ),
    Mutant(
        "places to wait are bounded",
        "orders/api/waiting.py",
        "self._waiting.total() < self._places and ",
        "",
        "Requests that wait take all threads of the web.",
        ("tests/api/test_waiting.py",),
    ),
    Mutant(
        "one client has half of the places to wait",
        "orders/api/waiting.py",
        " and self._waiting[client.pk] < self._per_client",
        "",
        "One client's waits leave no place for another's.",
        ("tests/api/test_waiting.py",),
    ),
    _order("a pause is said first", _STOPPED, _HELD, "A paused order is said to wait for a hold."),
    _order(
        "a hold is said before silence",
        _HELD,
        _SILENCE,
        "A hold is blamed on the Scheduler.",
        before=_STOPPED,
    ),
    _order(
        "silence is said before missing code",
        _SILENCE,
        _UNKNOWN,
        "Code is brought to workers that do not run.",
        after=_TIME,
    ),
    _order(
        "missing code is said before the step's time",
        _UNKNOWN,
        _TIME,
        "An order that no worker knows is said to begin soon.",
    ),
    _order(
        "the step's time is said before room",
        _TIME,
        _ROOM,
        "A step that is tried again in an hour is said to wait for room.",
    ),
    Mutant(
        "the breaker is said before the window",
        _REASONS,
        "        _because(_breaker(row, flow, now))\n        or _behind(",
        "        _behind(",
        "An outage is said to be a full window.",
        _OF_REASONS,
    ),
    Mutant(
        "an order is what its buyer saw",
        "orders/submission.py",
        "agreed is not None and agreed != agreement(offer)",
        "False",
        "A buyer agrees to one sum and is charged another.",
        (
            "tests/shop/test_checkout.py::test_a_price_that_changes_after_the_page_was_checked_is_not_agreed_to",
        ),
    ),
    Mutant(
        "a frozen process is not alive",
        "workers/alive.py",
        "    if seconds > SILENT_SECONDS:\n",
        "    if False:\n",
        "A worker that is frozen is never restarted.",
        ("tests/unit/test_alive.py",),
    ),
    Mutant(
        "the file of another role proves nothing",
        "workers/alive.py",
        "    if writer != role:\n",
        "    if False:\n",
        "A dead Beat counts as alive by the file of its worker.",
        ("tests/unit/test_alive.py",),
    ),
    Mutant(
        "figures are for who shows the token",
        "workers/desk/metrics/view.py",
        '        return hmac.compare_digest(header, f"Bearer {token}".encode())\n',
        "        return True\n",
        "Strangers read how many orders a shop has.",
        ("tests/integration/test_metrics.py",),
    ),
    Mutant(
        "who comes through a proxy is not this machine",
        "workers/desk/metrics/view.py",
        "is_behind_proxy or any(name in request.META for name in _FORWARDED):\n",
        "False:\n",
        "Strangers read how many orders a shop has, through the proxy beside it.",
        ("tests/integration/test_metrics.py",),
    ),
    Mutant(
        "a counter is carried forward once",
        "workers/desk/store/totals.py",
        "    if newest is not None and newest >= at:\n",
        "    if False:\n",
        "Each round writes all figures again.",
        ("tests/integration/test_metrics.py",),
    ),
)
