"""`python -m benchmarks.peers.naive filled 300`: the hand-written chain, measured."""

from benchmarks.peers.naive.system import SYSTEM
from benchmarks.regimes import runs

runs.serve(SYSTEM, "benchmarks.peers.naive.system")
