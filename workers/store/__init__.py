"""The state store: the only code that writes the tables of ``workers``.

One file per duty.  Locks are taken in one order everywhere: process rows in primary-key
order, then (in a later statement) their steps, then flow rows by name.  Every write after a
claim repeats the claim in its WHERE; a row that does not match has lost a race, which is a
normal outcome.
"""
