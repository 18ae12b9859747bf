"""What travels between clients and the server, as Python sees it: pure values and tables, no I/O."""
