"""What `manage.py sas` knows of the desk: a module for each noun, with its `Command`."""
