"""Benchmarks: how fast and how good Pinakes is, next to its peers. Start at README.md."""
