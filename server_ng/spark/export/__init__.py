"""Topics into tables of files, exactly once: how far a table has come is part of its own commits."""
