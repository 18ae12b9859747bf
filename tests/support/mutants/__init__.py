"""Mutation testing: one small change of the source at a time, and whether a judge notices it."""
