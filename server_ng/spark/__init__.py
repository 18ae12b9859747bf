"""Topics as Spark tables, and the jobs around them; `README.md` beside this file is the way in."""
