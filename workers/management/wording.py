"""Words that several commands print."""


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, as in "1 error" and "0 sinks"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
