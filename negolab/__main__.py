"""Entry point for `python -m negolab`."""

from negolab.cli import main

main()
