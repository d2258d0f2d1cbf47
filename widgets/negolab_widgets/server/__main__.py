"""`python -m negolab_widgets.server serve|replay|results|lab`: start the pages, or JupyterLab on the notebooks."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from negolab_widgets.server.launcher import ServeOptions, run_lab, run_replay, run_results, run_serve
from negolab_widgets.server.logs import print_warning


def main() -> None:
    """Parse the arguments of a page and run it."""
    args = _parser().parse_args()
    # A handler that is set here is the default again in the children, also where we were started with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(_run(args))
    except KeyboardInterrupt:
        sys.exit(0)
    except (OSError, RuntimeError, ValueError) as error:
        print_warning(str(error))
        sys.exit(2)


def _run(args: argparse.Namespace) -> int:
    if args.command == "lab":
        return run_lab(args.dir, args.port, not args.no_browser)
    if args.command in ("replay", "results"):
        show = run_replay if args.command == "replay" else run_results
        show(args.file, args.module, args.port, args.out, not args.no_browser, args.base_urls)
    else:
        given = {name: value for name, value in vars(args).items() if name not in ("command", "no_browser")}
        lists = {name: tuple(given[name]) for name in ("gate_options", "base_urls")}
        run_serve(ServeOptions(**{**given, **lists}, browser=not args.no_browser))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="negolab_widgets.server")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("serve", "replay", "results", "lab"):
        command = commands.add_parser(name)
        command.add_argument("--port", type=int, required=True)
        command.add_argument("--no-browser", action="store_true")
    for name in ("serve", "replay", "results"):
        commands.choices[name].add_argument("--out", type=Path, required=True)
        commands.choices[name].add_argument("--base-url", dest="base_urls", action="append", default=[])
    for name in ("replay", "results"):
        commands.choices[name].add_argument("--file", type=Path, required=True)
        commands.choices[name].add_argument("--module")
    commands.choices["lab"].add_argument("--dir", type=Path, required=True)
    _of_a_study(commands.choices["serve"])
    return parser


def _of_a_study(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("study", type=Path, nargs="?")
    for name in ("--public-url", "--kernel-user"):
        serve.add_argument(name)
    # An address with a password is not for the list of processes.
    serve.add_argument("--db", default=os.environ.get("NEGOLAB_DB"))
    for name in ("--certfile", "--keyfile"):
        serve.add_argument(name, type=Path)
    serve.add_argument("--host", default=ServeOptions.host)
    serve.add_argument("--behind-proxy", action="store_true")
    serve.add_argument("--max-kernels", type=int)
    serve.add_argument("--pool", type=int, default=ServeOptions.pool)
    serve.add_argument("--desk-port", type=int, default=ServeOptions.desk_port)
    serve.add_argument("--budget", type=float)
    # For tests: another host, another page, and defences that are switched off.
    serve.add_argument("--study-page", type=Path, help=argparse.SUPPRESS)
    serve.add_argument("--host-module", default=ServeOptions.host_module, help=argparse.SUPPRESS)
    serve.add_argument("--gate-option", dest="gate_options", action="append", default=[], help=argparse.SUPPRESS)


if __name__ == "__main__":
    main()
