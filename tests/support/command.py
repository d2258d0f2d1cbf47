"""The command line, in a process that is forked from one which has imported it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from negolab import cli
from tests.support.forked import ForkedProcess

NEGOLAB = [sys.executable, "-m", "negolab"]
"""For commands that serve, that are killed, or of which the start itself is tested."""


def negolab(
    *args: str, cwd: Path | None = None, text: str = "", env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `negolab args` and return what it printed.

    Args:
        args: The command and its options.
        cwd: Working directory; None: the tests' own.
        text: Standard input.
        env: The whole environment; None: the tests' own.
        timeout: Seconds after which it is killed and `subprocess.TimeoutExpired` raised.
    """
    process = ForkedProcess(cli.main, *args, cwd=cwd, env=env)
    out, err = process.communicate(text, timeout)
    return subprocess.CompletedProcess([*NEGOLAB, *args], process.wait(), out, err)


def refusal(*args: str, cwd: Path | None = None) -> str:
    """The one line in which `negolab args` says why it does nothing."""
    ran = negolab(*args, cwd=cwd)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr


def succeeding(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `negolab args`, which must succeed."""
    ran = negolab(*args, **options)
    assert ran.returncode == 0, ran.stderr
    return ran
