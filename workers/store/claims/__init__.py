"""Claims: find work, claim it, start it, release it."""
