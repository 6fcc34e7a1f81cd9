"""Private servers on loopback, in a folder of their own, that may be hurt at will."""
