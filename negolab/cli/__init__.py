"""The command line `negolab`, with one module per group of commands.

This module joins them and prints errors; start with `play.py`. `options.py` has the options that they share.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typing_extensions import override

from negolab._internal.files import error_sentence
from negolab._internal.lean import skip_iri_parser
from negolab._internal.validation import suggest
from negolab._internal.version import __version__
from negolab.catalog import list_games
from negolab.cli import (
    batch,
    cache,
    code,
    corpora,
    guide,
    model,
    new,
    plan,
    play,
    records,
    serve,
    sweep,
    tournament,
)
from negolab.cli.options import Group
from negolab.formatting import escape_control
from negolab.user_code import describe_failure

_PURPOSE = "Negotiation games between people, language models and scripted strategies."
_START = f"""\
{_PURPOSE}

  Play in the browser            negolab serve
  Play a thousand matches        negolab batch bargaining --a linear --b boulware --n 1000 --out data/runs/first
  Run a notebook over a grid     negolab new sweep patience
  Run a study with people        negolab new study haggling
  Write your own game            negolab new game pie

The guide: negolab guide (begin with negolab guide first-hour). All commands: negolab --help."""
EXPECTED = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
}
"""Values that an option takes, by the kind of error about a value that it does not take."""


class _Study(TyperGroup):
    """The commands of `negolab study`. Their modules are imported on demand: SQLAlchemy, which only they need, takes a
    quarter of a command's startup time."""

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._load()
        return super().get_command(ctx, cmd_name)

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def _load(self) -> None:
        from negolab.cli import bonus, study, trial

        if not self.commands:
            study.app.command("try")(trial.try_)
            study.app.command()(bonus.bonus)
            self.commands.update(typer.main.get_group(study.app).commands)


app = Group(help=_PURPOSE)
_study = Group("study", "Run a study, defined in a TOML file, with human participants.", _Study)
sweep.app.command()(records.report)
tournament.app.command()(sweep.show)
app.command("calls")(cache.print_calls)
for _module in (play, batch, tournament, records, code, plan, serve, guide, new, sweep, corpora):
    app.add_typer(_module.app)
for _app in (_study, model.app, cache.app):
    app.add_typer(_app)


@app.callback(invoke_without_command=True)
def _negolab(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version.")
) -> None:
    if version or context.invoked_subcommand is None:
        typer.echo(__version__ if version else _START)
        raise typer.Exit


def main() -> None:
    """Run the command line; print an error as one line to stderr and exit with code 2 (130 after Ctrl-C).

    With NEGOLAB_DEBUG set, unexpected errors are raised with their traceback.
    """
    warnings.showwarning = lambda message, *_, **__: print(play.escape_line(f"negolab: {message}"), file=sys.stderr)
    skip_iri_parser()
    try:
        code = app(standalone_mode=False)
        print(end="", flush=True)  # even if there is no stdout, as in a job that closed it
    except BrokenPipeError:  # the reader is gone, as with `head`; leave nothing to be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except TyperException as error:
        _stop(_usage_message(error))
    except KeyboardInterrupt:
        _stop("stopped", 130)
    except Exception as error:  # last resort: users get one line, not a traceback
        if os.environ.get("NEGOLAB_DEBUG"):
            raise
        is_expected = isinstance(error, ValueError | OSError | RuntimeError) and str(error)
        _stop(error_sentence(error) if is_expected else f"{describe_failure(error)} (NEGOLAB_DEBUG=1 shows where)")
    sys.exit(code if isinstance(code, int) else 0)


def _usage_message(error: TyperException) -> str:
    """Say what is wrong with a command, and what to do: name the full command, its help, or a similar name."""
    text, context, param = error.format_message(), getattr(error, "ctx", None), getattr(error, "param", None)
    if text.startswith("Usage:"):
        print(text)
        return "choose a command"
    if text.startswith("No such command"):
        name = text.split("'")[1]
        return f"no such command {name!r}: {suggest(name, _commands(error))}"
    if param is not None and not text.startswith("Missing"):
        return _invalid_value(error, param) or text.replace("Value error, ", "")
    if context is None:
        return text
    command = context.command_path.replace(context.find_root().command_path, "negolab", 1)
    needed = [each for each in context.command.params if each.required]
    usage = " ".join([command, *(f"{name} ..." if name.startswith("-") else name for name in map(_shown, needed))])
    games = f" (games: {', '.join(list_games())})" if "GAME" in map(_shown, needed) else ""
    text = text.removesuffix(".") if param is None else f"{_shown(param)} is missing: {usage}{games}"
    return f"{text}; see {command} --help"


def _invalid_value(error: TyperException, param: Any) -> str:
    """Say what an option takes, if the error is about its type or bounds; "" otherwise."""
    cause: Any = error.__cause__
    fault: dict[str, Any] = cause.errors()[0] if hasattr(cause, "errors") else {"type": ""}
    if fault["type"] not in EXPECTED:
        return ""
    return f"{_shown(param)} must be {EXPECTED[fault['type']].format(**fault.get('ctx', {}))}, not {fault['input']!r}"


def _shown(param: Any) -> str:
    """Return the name of an option, or the name of an argument in help."""
    return str(param.opts[0] if param.param_type_name == "option" else param.metavar or param.name.upper())


def _commands(error: TyperException) -> list[str]:
    """List the commands available where the error occurred: the program's, or those of a group such as `study`."""
    group = getattr(getattr(error, "ctx", None), "command", None)
    return sorted(getattr(group, "commands", {}))


def _stop(text: str, code: int = 2) -> None:
    print("negolab:", escape_control(" ".join(text.split())), file=sys.stderr)
    sys.exit(code)
