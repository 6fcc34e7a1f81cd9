"""Expire claims whose complete-by has passed: reset the step, or end it in error."""
