"""Topics compacted: sealed segments rewritten to the newest message of each key, and handed back."""
