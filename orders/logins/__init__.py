"""Logins to the admin: guessed passwords are counted, told and slowed down."""
