"""Every verb of the state store against every other, on one order and two connections."""
