"""Operate an installation: invariants and retention."""
