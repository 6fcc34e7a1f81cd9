"""Every guard taken away once: a test must go red, or the guard proves nothing."""
