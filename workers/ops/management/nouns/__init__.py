"""Nouns of `manage.py sas` that look and change nothing: a module for each, with its `Command`."""
