"""What the launcher says on the terminal."""

from __future__ import annotations

import sys


def tell(line: str) -> None:
    """A line for whoever started it, at once: others wait for it too."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def warn(line: str) -> None:
    """A line about what went wrong."""
    sys.stderr.write(f"negolab: {line}\n")
    sys.stderr.flush()
