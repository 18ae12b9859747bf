"""Brings the partitions that the shards hold to what the metadata says: a pure planner and its task."""
