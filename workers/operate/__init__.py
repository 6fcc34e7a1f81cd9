"""Running an installation: invariants and retention."""
