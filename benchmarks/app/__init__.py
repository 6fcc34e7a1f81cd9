"""Agents that do nothing, or take 50 ms, and the graphs that are measured."""
