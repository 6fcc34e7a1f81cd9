"""The cases: each measures round by round and returns its part of the JSON."""
