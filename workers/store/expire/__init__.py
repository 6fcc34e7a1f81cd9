"""Claims whose complete-by has passed: reset, or in error."""
