"""The command line, in a process that has imported it already: a command starts in some 30 ms instead of a second."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

NEGOLAB = [sys.executable, "-m", "negolab"]
"""For commands that serve, that are killed, or of which the start itself is tested."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    ["negolab.cli", "negolab.analysis.export", "negolab.studies.export", "negolab.llm.player", "papermill"]
)


def negolab(
    *args: str,
    cwd: Path | None = None,
    text: str = "",
    env: Mapping[str, str] | None = None,
    largest: int = resource.RLIM_INFINITY,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run `negolab args` in a process of its own and return what it printed.

    Args:
        args: The command and its options.
        cwd: Working directory; None: the tests' own.
        text: Standard input.
        env: The whole environment; None: the tests' own.
        largest: Bytes of the largest file that it can write, as on a disk that is full then.
        timeout: Seconds after which it is killed and `subprocess.TimeoutExpired` raised.
    """
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        files[0].write_text(text, "utf-8")
        process = _processes.Process(
            target=_command, args=(args, cwd or Path.cwd(), dict(os.environ if env is None else env), files, largest)
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([*NEGOLAB, *args], timeout, *(file.read_bytes() for file in files[1:]))
        out, err = (file.read_text("utf-8") for file in files[1:])
        return subprocess.CompletedProcess([*NEGOLAB, *args], process.exitcode, out, err)


def _command(args: Iterable[str], cwd: Path, env: dict[str, str], files: list[Path], largest: int) -> None:
    """Become the program: its arguments, folder, environment and streams."""
    from negolab.cli import main

    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, (file, flags) in enumerate(zip(files, (os.O_RDONLY, _NEW, _NEW), strict=True)):
        os.dup2(os.open(file, flags), number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    sys.argv = ["negolab", *args]
    sys.path.insert(0, str(cwd))
    try:
        main()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()


_NEW = os.O_WRONLY | os.O_CREAT
