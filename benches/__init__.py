"""Measurements of a whole server, as counts and ratios inside one run; `README.md` says what each means."""
