"""One file a library; each runs in its own process and environment, and knows nothing of the truth."""
