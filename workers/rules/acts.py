"""Which journal rows of a person are acts, and which only tell what followed from one.  Pure."""

#: A person's act moves more than it names: these rows say so, and stand on the process's page.
FOLLOWING = frozenset(
    {
        *("started", "ready", "claimed", "handed_back", "resumed", "begins_again"),
        *("cancelled", "compensated", "nothing_to_undo", "condition_failed", "error"),
    }
)
#: The same where they are about the process as a whole: of a step they are what somebody did.
FOLLOWING_OF_PROCESS = frozenset({"processed"})


def is_act(event: str, *, of_step: bool) -> bool:
    """Say whether a row tells of what somebody did, and not of what followed."""
    return event not in FOLLOWING and (of_step or event not in FOLLOWING_OF_PROCESS)
