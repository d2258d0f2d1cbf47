"""The command line: `negolab games | watch | play | batch | sweep | replay | check | export | serve | lab | study |
model | cache`."""

from __future__ import annotations

import os
import signal
import sys
import warnings

import typer
from typer.exceptions import TyperException

from negolab import catalog
from negolab.cli import batch, cache, model, results, runs, screens, study, sweep, table
from negolab.version import __version__

app = typer.Typer(
    name="negolab",
    help="Negotiation games between people, language models and scripted strategies.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _module in (table, batch, sweep, results, runs, screens, study, model, cache):
    _module.add_to(app)


@app.callback(invoke_without_command=True)
def _negolab(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line. What the user can mend is said in one line; exit code 2."""
    warnings.showwarning = lambda message, *_, **__: print(f"negolab: {message}", file=sys.stderr)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        _stop(_said(error))
    except KeyboardInterrupt:
        _stop("stopped", 130)
    except Exception as error:  # the last resort: one line, whatever it was
        if os.environ.get("NEGOLAB_DEBUG"):
            raise
        known = isinstance(error, ValueError | OSError | RuntimeError) and str(error)
        _stop(str(error) if known else f"{type(error).__name__}: {error} (NEGOLAB_DEBUG=1 shows where)")
    sys.exit(code if isinstance(code, int) else 0)


def _said(error: TyperException) -> str:
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    if text.startswith("Usage:"):
        print(text)
        return "choose a command"
    if text.startswith("No such command"):
        name = text.split("'")[1]
        text = f"no such command {name!r}: {catalog.near(name, _commands(error))}"
    return text.replace("Value error, ", "")


def _commands(error: TyperException) -> list[str]:
    """The commands there are where the error was made: of the program, or of a group such as `study`."""
    group = getattr(getattr(error, "ctx", None), "command", None)
    return sorted(getattr(group, "commands", {}))


def _stop(text: str, code: int = 2) -> None:
    print("negolab:", " ".join(text.split()), file=sys.stderr)
    sys.exit(code)
