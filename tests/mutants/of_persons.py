"""Guards of what is kept and what is erased of a person, and of traces."""

from tests.mutants.mutant import Mutant

_ERASING = "tests/integration/test_erasing.py"
_PERSONS = "tests/integration/test_persons.py"
_PAGE = "tests/admin/test_person_page.py"
_PERSON = "workers/desk/admin/person.py"
_ERASE = "workers/privacy/erase.py"
_EVERYWHERE = "tests/integration/test_two_persons_everywhere.py"
_TRACING = "tests/unit/test_tracing.py"

MUTANTS = (
    Mutant(
        "an approval is for the attempt that it was asked about",
        "workers/store/operate/undo_requests.py",
        "    if sequence != request.sequence or not request.step:",
        "    if True:",
        "A step is skipped with approval that has booked a parcel since it was asked for.",
        ("tests/integration/test_two_persons.py",),
    ),
    Mutant(
        "only what the page has shown is erased",
        _PERSON,
        ' and posted.get("seen") == posted.get("email")',
        "",
        "A slip in an address erases another person.",
        (_PAGE,),
    ),
    Mutant(
        "an export takes the right to see personal data",
        _PERSON,
        "    if not showing.may(request):\n        raise PermissionDenied\n    text",
        "    text",
        "Those who may erase read what they may not see.",
        (_PAGE,),
    ),
    Mutant(
        "a reason without the address",
        "workers/privacy/persons.py",
        "if mail_addresses.names(email, reason) or any(",
        "if any(",
        "The journal keeps the address of a person who was erased.",
        (_PERSONS,),
    ),
    Mutant(
        "two persons, for erasing",
        _ERASE,
        "        two_persons.refuse_alone(locked, paths, actor, amounts)\n        if",
        "        if",
        "One person makes whose a large order was unknown.",
        (_EVERYWHERE,),
    ),
    Mutant(
        "only what has ended is erased",
        _ERASE,
        "if process.state not in FINAL_PROCESS_STATES:",
        "if False:",
        "A parcel is sent to ***.",
        (_ERASING,),
    ),
    Mutant(
        "no step of what was erased is done again",
        "workers/rules/operator_commands.py",
        "if process.erased_at is not None:",
        "if False:",
        "A mail is sent to ***.",
        (_ERASING,),
    ),
    Mutant(
        "a reason names nobody who is erased",
        _ERASE,
        "if carry_out(locked, actor, reason) != reason:",
        "if carry_out(locked, actor, reason) is None:",
        "The admin's log keeps the name that was to be forgotten.",
        (_ERASING,),
    ),
    Mutant(
        "what an operator had corrected is erased, too",
        _ERASE,
        '[process.input, *journal.values_list("detail", flat=True)]',
        "[process.input]",
        "The address of before stays in what a service answered.",
        (_ERASING,),
    ),
    Mutant(
        "a reason without the name",
        "workers/privacy/persons.py",
        " or any(erasing.is_named_in(pk, reason) for pk in ids):",
        ":",
        "The audit keeps the name of a person who was to be forgotten, and says they were.",
        (_PERSONS,),
    ),
    Mutant(
        "what the engine wrote is erased of nobody",
        "workers/rules/masks.py",
        "        if key in _OWN:\n",
        "        if False:\n",
        "A customer called Payment takes the agents out of the journal.",
        ("tests/unit/test_masks.py",),
    ),
    Mutant(
        "a search by address goes from jobs",
        "workers/desk/personal_rows.py",
        "if self.has_address(email, job.reason, job.source)]",
        "if self.has_address(email, job.reason)]",
        "The page of a job keeps the address of a person who was erased.",
        (_PERSONS,),
    ),
    Mutant(
        "a longer address in a text is another person's",
        "workers/privacy/mail_addresses.py",
        "not (at if is_alone else _LONGER.search(text[max(0, at - LONGEST) : at]))",
        "True",
        "Erasing ann@example.org deletes the dead letters of joann@example.org.",
        ("tests/unit/test_mail_addresses.py",),
    ),
    Mutant(
        "a longer address is another person's",
        "workers/privacy/persons.py",
        "if mail_addresses.names(email, document)}",
        "}",
        "Erasing ann@example.org erases joann@example.org.",
        (_PERSONS,),
    ),
    Mutant(
        "an open dead letter is kept",
        "orders/personal_rows.py",
        ".exclude(state=DeadLetter.State.OPEN)",
        "",
        "An order that somebody still waits for is deleted.",
        (_PERSONS,),
    ),
    Mutant(
        "a share of processes is traced",
        "workers/runtime/tracing.py",
        "    number = int(blake2b(hex_id.encode(), digest_size=16).hexdigest(), 16)\n",
        "    number = int(hex_id, 16)\n",
        "A sampler that keeps a quarter keeps none: each uid has the same first bits there.",
        (_TRACING,),
    ),
    Mutant(
        "what is not sampled is told as that",
        "workers/runtime/tracing.py",
        "flags = trace.TraceFlags.SAMPLED if _is_sampled(hex_id) else trace.TraceFlags.DEFAULT",
        "flags = trace.TraceFlags.SAMPLED",
        "Every process is traced, whatever the project's sampler says.",
        (_TRACING,),
    ),
)
