"""Which faults are survived, and the tests that show it."""
