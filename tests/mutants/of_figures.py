"""Guards of the figures of health: minutes, gauges, and the doctor's rounds."""

from tests.mutants.mutant import Mutant

_MINUTES = "workers/desk/store/minutes.py"
_GAUGES = "workers/desk/store/gauges.py"
_DUTY = "workers/desk/operate/health.py"
_ROUNDS = "workers/desk/doctor/rounds.py"
_OF_MINUTES = ("tests/integration/test_minutes.py",)
_OF_DUTY = ("tests/integration/test_health_duty.py",)
_OF_ROUNDS = ("tests/doctor/test_rounds.py",)

MUTANTS = (
    Mutant(
        "one at a time rolls minutes up",
        _DUTY,
        "        if not lease:\n            return None\n",
        "",
        "Every worker that is asked reads the journal of the same minutes.",
        _OF_DUTY,
    ),
    Mutant(
        "a minute waits for what is committed late",
        _DUTY,
        "begin(at - timedelta(seconds=GRACE_SECONDS), Span.MINUTE)",
        "begin(at, Span.MINUTE)",
        "What was written in the last seconds of a minute is in no figure.",
        _OF_DUTY,
    ),
    Mutant(
        "a round of minutes is bounded",
        _DUTY,
        "if time.monotonic() >= end or not lease.renew():",
        "if not lease.renew():",
        "After a gap of hours one task rolls minutes up, and others wait behind it.",
        _OF_DUTY,
    ),
    Mutant(
        "minutes go on though the clock was set back",
        _DUTY,
        "if lateness.is_ahead((at - minute).total_seconds()):",
        "if False:",
        "Health stands still until the clock shows the old time again.",
        _OF_DUTY,
    ),
    Mutant(
        "minutes whose figures would go at once are left out",
        _DUTY,
        "return max(minute, begin(at - KEPT[Span.MINUTE], Span.MINUTE))",
        "return minute",
        "After months without it the duty catches up for days.",
        _OF_DUTY,
    ),
    Mutant(
        "health is asked for once in half a minute",
        _DUTY,
        "return leases.is_due(ASKED, INTERVAL_SECONDS)",
        "return True",
        "Each sweep of each supervisor sends a message for the figures.",
        _OF_MINUTES,
    ),
    Mutant(
        "late rows are found",
        _MINUTES,
        "_edge(minute - SLACK)[0]",
        "_edge(minute)[0]",
        "What was committed behind younger rows is in no figure.",
        _OF_MINUTES,
    ),
    Mutant(
        "a minute counts its own rows",
        _MINUTES,
        "j.id < %s AND j.at >= %s AND j.at < %s AND (",
        "j.id < %s AND j.at >= %s AND (true OR j.at < %s) AND (",
        "Rows near a minute are counted in it, and in their own.",
        _OF_MINUTES,
    ),
    Mutant(
        "a minute rolled up anew takes the place of what it was",
        _MINUTES,
        'f"{name} = excluded.{name}" for name',
        'f"{name} = desk_minute.{name}" for name',
        "Figures of a minute that was rolled up too early stay.",
        _OF_MINUTES,
    ),
    Mutant(
        "the answers of others are no call",
        _MINUTES,
        "CASE WHEN {is_called} THEN",
        "CASE WHEN true THEN",
        "A person's two days are the longest call of an agent.",
        _OF_MINUTES,
    ),
    Mutant(
        "what was done by hand is no result",
        _MINUTES,
        """ AND {dialect.text_in("r.detail", "by_hand")} IS NULL""",
        "",
        "A step that an operator completed counts as the agent's success.",
        _OF_MINUTES,
    ),
    Mutant(
        "steps of paused processes are not the oldest",
        _GAUGES,
        'f" AND l.step_id NOT IN ({_PAUSED}) THEN',
        'f" THEN',
        "An order that was paused a week ago hides that others wait.",
        _OF_DUTY,
    ),
    Mutant(
        "a longer span stands as at its worst",
        _GAUGES,
        "worst(level for _at, level in of_span(Span.MINUTE, since, end))",
        "levels",
        "A breaker that was open for half an hour is in no picture of the day.",
        _OF_DUTY,
    ),
    Mutant(
        "the doctor looks once a minute",
        "workers/desk/operate/examinations.py",
        "return seconds is None or seconds >= INTERVAL_SECONDS or lateness.is_ahead(seconds)",
        "return True",
        "Each ask has all probes run.",
        _OF_ROUNDS,
    ),
    Mutant(
        "one at a time looks the installation over",
        "workers/desk/operate/examinations.py",
        "        if not lease:\n            return False\n",
        "",
        "Several workers run all probes at once.",
        _OF_ROUNDS,
    ),
    Mutant(
        "a round of probes is bounded",
        _ROUNDS,
        "        if began >= end:\n            break\n",
        "",
        "Probes that hang hold a worker for minutes.",
        _OF_ROUNDS,
    ),
    Mutant(
        "the probes that wait longest come first",
        _ROUNDS,
        "return sorted(awake, key=lambda probe: -_age(lasts.get(name_of(probe))))",
        "return awake",
        "Probes at the end of the list are never run.",
        _OF_ROUNDS,
    ),
    Mutant(
        "a costly probe rests",
        _ROUNDS,
        "if not _rests(lasts.get(name_of(probe)))]",
        "if probe]",
        "A probe of many seconds runs each minute while nothing is wrong.",
        _OF_ROUNDS,
    ),
    Mutant(
        "an error is told of when it is found again",
        "workers/desk/store/probe_results.py",
        "ERRORS_BEFORE_ALERT = 2",
        "ERRORS_BEFORE_ALERT = 1",
        "Each deployment wakes somebody up.",
        _OF_ROUNDS,
    ),
)
