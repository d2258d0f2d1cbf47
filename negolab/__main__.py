"""Entry point of `python -m negolab`."""

from negolab.cli import main

main()
