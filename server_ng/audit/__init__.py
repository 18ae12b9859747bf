"""The audit file: who did what, in lines that are chained so that a change of one shows."""
