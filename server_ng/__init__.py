"""server-ng: a persistent message-streaming server for unmodified Apache Iggy clients."""
