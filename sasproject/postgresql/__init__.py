"""Django's PostgreSQL backend, for servers that fail over."""
