"""Segments read outside the broker: what a lease holds, and its messages as columns."""
