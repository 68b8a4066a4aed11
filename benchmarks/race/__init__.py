"""The race: Pinakes and its peers on identical features in one run; ``python -m benchmarks.race --help``."""
