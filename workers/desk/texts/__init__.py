"""What people read: why something waits, and what alerts mean.  The engine has codes."""
