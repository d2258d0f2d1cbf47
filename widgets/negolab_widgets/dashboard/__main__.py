"""`python -m negolab_widgets.dashboard serve|replay|lab`: start Voila on a page, or JupyterLab on the notebooks."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from negolab_widgets.places import MODULE, OUT, SOURCE

HERE = Path(__file__).parent
READY_WITHIN = 60.0
"""Seconds Voila may take to answer."""

# What a kernel may inherit: no key or token of the person who serves the page.
_KEEP = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "SYSTEMROOT",
)


def notebooks() -> Path:
    """The notebooks: beside the package in a wheel, at the top of a checkout."""
    shipped = HERE / "notebooks"
    return shipped if shipped.is_dir() else HERE.parents[2] / "notebooks"


def environment(out: Path, **more: str) -> dict[str, str]:
    """A scrubbed environment for Voila and its kernels."""
    kept = {name: os.environ[name] for name in _KEEP if name in os.environ}
    if "PYTHONPATH" in kept:  # the page runs in a folder of its own
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in kept["PYTHONPATH"].split(os.pathsep))
    own = {OUT: str(out.resolve()), "JUPYTER_PATH": str(HERE / "share"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return {**kept, **own, **more}


def serve(port: int, out: Path, browser: bool) -> int:
    """Run Voila on the page where people play until it ends or is interrupted; its exit code."""
    return _page("play", port, environment(out), f"records: {out.resolve()}", browser)


def replay(file: Path, module: str | None, port: int, out: Path, browser: bool) -> int:
    """Run Voila on the page that replays the records of `file`; branches of them are kept in `out`."""
    # The page runs in a folder of its own: what is a file gets its whole path.
    game = {} if module is None else {MODULE: str(Path(module).resolve()) if Path(module).is_file() else module}
    env = environment(out, **{SOURCE: str(file.resolve()), **game})
    return _page("replay", port, env, f"branches: {out.resolve()}", browser)


def _page(name: str, port: int, env: dict[str, str], where: str, browser: bool) -> int:
    _must_be_free(port)
    Path(env[OUT]).mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{port}/"
    with tempfile.TemporaryDirectory(prefix="negolab-") as folder:
        shutil.copy(HERE / "config.py", Path(folder) / "voila.py")
        page = notebooks() / "dashboards" / f"{name}.ipynb"
        # -P: the working directory holds Voila's configuration, which has the name of its package.
        command = [sys.executable, "-P", "-m", "voila", str(page), f"--port={port}", "--Voila.log_level=ERROR"]
        with _child(command, cwd=folder, env=env) as process:
            _wait_until_ready(url, process)
            print(f"negolab is at {url}   ({where}; Ctrl-C ends it)", flush=True)
            if browser:
                webbrowser.open(url)
            return process.wait()


def lab(folder: Path, port: int, browser: bool) -> int:
    """Copy the notebooks to `folder` (files that are there already stay as they are) and open JupyterLab on it."""
    shutil.copytree(notebooks(), folder, dirs_exist_ok=True, copy_function=_copy_new, ignore=_IGNORED)
    print(f"your copy of the notebooks is in {folder.resolve()}", flush=True)
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", "--ip=127.0.0.1", "--LabApp.news_url=None"]
    command += [f"--ServerApp.root_dir={folder.resolve()}", *([] if browser else ["--no-browser"])]
    command += ["--ServerApp.allow_root=True"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with _child(command, cwd=str(folder), env=dict(os.environ)) as process:
        return process.wait()


_IGNORED = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")


def _copy_new(source: str, target: str) -> str:
    return target if Path(target).exists() else str(shutil.copy2(source, target))


def _must_be_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise RuntimeError(f"port {port} is in use: choose another with --port") from None


def _wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    """Probe until the server answers, and that it answers as configured: no file beside the page, pictures included."""
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"Voila ended with code {process.returncode} before it was ready")
        code = _status(url + "voila/files/probe.png")
        if code == 403:
            return
        if code is not None:
            raise RuntimeError(f"Voila did not take our configuration (probe answered {code}); not serving")
        time.sleep(0.1)
    raise RuntimeError(f"Voila did not answer within {READY_WITHIN:g} s")


def _status(url: str) -> int | None:
    """The status of a request, None if nobody answers yet."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


@contextlib.contextmanager
def _child(command: list[str], cwd: str, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A server as a child that ends with us, its kernels with it."""
    # A session of its own: Ctrl-C in the terminal reaches us, and we pass it on once. A handler that is set here is the
    # default again in the child, also where we were started with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=cwd, env=env, start_new_session=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield process
    except KeyboardInterrupt:
        pass
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main() -> None:
    """Parse the arguments of either screen and run it."""
    parser = argparse.ArgumentParser(prog="negolab_widgets.dashboard")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("serve", "replay", "lab"):
        command = commands.add_parser(name)
        command.add_argument("--port", type=int, required=True)
        command.add_argument("--no-browser", action="store_true")
    for name in ("serve", "replay"):
        commands.choices[name].add_argument("--out", type=Path, required=True)
    commands.choices["replay"].add_argument("--file", type=Path, required=True)
    commands.choices["replay"].add_argument("--module")
    commands.choices["lab"].add_argument("--dir", type=Path, required=True)
    args = parser.parse_args()
    try:
        if args.command == "serve":
            sys.exit(serve(args.port, args.out, not args.no_browser))
        if args.command == "replay":
            sys.exit(replay(args.file, args.module, args.port, args.out, not args.no_browser))
        sys.exit(lab(args.dir, args.port, not args.no_browser))
    except (OSError, RuntimeError) as error:
        print(f"negolab: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
