"""Guards of what operators do to dead letters."""

from tests.mutants.mutant import Mutant

_LETTERS = "orders/dead_letters.py"
_GROUPS = "orders/letter_groups.py"
_FORM = "orders/admin/letter_corrections.py"
_OF_LETTERS = ("tests/queue_door/test_dead_letters.py",)
_OF_CORRECTIONS = ("tests/queue_door/test_letter_corrections.py",)
_OF_GROUPS = ("tests/queue_door/test_letter_groups.py",)

MUTANTS = (
    Mutant(
        "somebody stands for a sender that is not proven",
        _LETTERS,
        "elif not (letter.is_proven or unproven):",
        "elif False:",
        "Whoever writes a client's name has its orders placed.",
        _OF_LETTERS,
    ),
    Mutant(
        "a closed client's letter is not replayed",
        _LETTERS,
        "elif not client.is_active:",
        "elif False:",
        "An order is placed for a client that was shut out.",
        _OF_LETTERS,
    ),
    Mutant(
        "a replay answers nobody else's queue",
        _LETTERS,
        'and not reply_queues.belongs_to(client, properties.get("reply_to")):',
        "and False:",
        "A stranger is told of a client's order.",
        _OF_LETTERS,
    ),
    Mutant(
        "what is done to a letter is journalled",
        _LETTERS,
        '    record_act(\n        f"dead_letter_',
        '    (lambda *_, **__: None)(\n        f"dead_letter_',
        "Nobody can say who has placed an order by hand.",
        ("tests/admin/test_audit.py",),
    ),
    Mutant(
        "a correction is kept beside what came",
        _LETTERS,
        "            DeadLetter.objects.filter(pk=pk).update(corrected=correction.body)\n",
        "            pass\n",
        "Nobody can say what was changed of an order.",
        _OF_CORRECTIONS,
    ),
    Mutant(
        "a correction has a right of its own",
        _FORM,
        "if not request.user.has_perm(acts.CORRECT):",
        "if False:",
        "Whoever may replay a message writes another.",
        _OF_CORRECTIONS,
    ),
    Mutant(
        "a correction holds no token",
        _FORM,
        "if TOKEN.search(json.dumps(self.after)):",
        "if False:",
        "A client's token is stored, and shown to operators.",
        _OF_CORRECTIONS,
    ),
    Mutant(
        "a correction changes something",
        _FORM,
        "        if not self.changes:\n",
        "        if False:\n",
        "What was replayed as it came is said to be corrected.",
        _OF_CORRECTIONS,
    ),
    Mutant(
        "the message is JSON to who may see all of it",
        _FORM,
        "        if mask is UNMASKED:\n",
        "        if True:\n",
        "A form shows the personal data that its page masks.",
        _OF_CORRECTIONS,
    ),
    Mutant(
        "a group is of one sender",
        _GROUPS,
        '.filter(pk=pk).values("cause", "client", "sender").first()',
        '.filter(pk=pk).values("cause", "client").first()',
        "A stranger's message is replayed among those of the client it names.",
        _OF_GROUPS,
    ),
    Mutant(
        "a group of open letters has open ones",
        _GROUPS,
        "return DeadLetter.objects.filter(state=DeadLetter.State.OPEN, **letter)",
        "return DeadLetter.objects.filter(**letter)",
        "What was discarded is dealt with once more.",
        _OF_GROUPS,
    ),
    Mutant(
        "a group that is not proven is marked",
        _GROUPS,
        'return self.client if self.is_proven else f"unproven {self.client}"',
        "return self.client",
        "A stranger's messages look like those of the client they name.",
        _OF_GROUPS,
    ),
)
