"""The engine's nouns of `manage.py sas`: a module for each, with its `Command`."""
