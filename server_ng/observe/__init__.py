"""What the server shows of itself: log, metrics, health, host figures, and its state to systemd.

Import from the modules: the listener alone costs as much start-up time as all the rest.
"""
