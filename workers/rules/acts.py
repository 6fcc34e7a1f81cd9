"""Which journal rows of a person are acts, and which only record what followed from one.  Pure."""

#: A person's act moves more than it names: these rows record that, on the process's page.
FOLLOWING = frozenset(
    {
        *("started", "ready", "claimed", "handed_back", "resumed", "begins_again"),
        *("cancelled", "compensated", "nothing_to_undo", "condition_failed", "error"),
    }
)
#: The same, for rows about the process as a whole: on a step they record what a person did.
FOLLOWING_OF_PROCESS = frozenset({"processed"})


def is_act(event: str, *, of_step: bool) -> bool:
    """Say whether a row records what a person did, and not what followed from it."""
    return event not in FOLLOWING and (of_step or event not in FOLLOWING_OF_PROCESS)
