"""What `manage.py sas` knows of the engine: a module for each noun, with its `Command`."""
