"""The command line in the process of the tests, for commands that start nothing and only read and write files."""

from __future__ import annotations

import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

from negolab import cli


def negolab(*args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `negolab args` and return what it printed."""
    words, out, err, code = list(map(str, args)), StringIO(), StringIO(), 0
    with (
        chdir(cwd or Path.cwd()),
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.object(sys, "argv", ["negolab", *words]),
        mock.patch.object(warnings, "showwarning", warnings.showwarning),
    ):
        try:
            cli.main()
        except SystemExit as done:
            code = int(done.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
