"""Loads a node and the null sink through the real client, in turns, and compares them."""
