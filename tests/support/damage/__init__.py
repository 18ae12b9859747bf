"""The damage sweep: one file of a data directory is damaged, and the server may repair, fence or refuse."""
