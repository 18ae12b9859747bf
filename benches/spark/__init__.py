"""What jobs on topics cost: decoding, Spark, compaction, export."""
