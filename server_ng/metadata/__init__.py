"""The replicated state machine of streams, topics and partitions.

`apply` reads the state and says what an op comes to; `fold` is the only writer. Both are functions of the
log alone: no clock, no randomness, no order of a set, no locale. Every replica gets the same rows, live or at
boot.
"""
