"""`python -m pinakes`."""

from pinakes.cli.main import main

main()
