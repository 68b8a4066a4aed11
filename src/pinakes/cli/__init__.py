"""One verb a file. Data go to stdout, everything said to a person goes to stderr."""
