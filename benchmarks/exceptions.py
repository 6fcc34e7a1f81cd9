"""Why a measurement has no figure."""


class Unavailable(Exception):
    """What is needed is not on this machine: said, left out, and no failure."""


class Wrong(Exception):
    """What was measured was not done, or not done right: its figure is worth nothing."""
