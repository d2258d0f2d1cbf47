"""Reports on runs as one HTML file that needs no network: the report that every run has, or the user's own notebook.

Figures are drawn by plotly's own script, packed into the page once: its bundle for flat charts or, for any other kind
of chart, the complete script from the installed plotly.
"""

from __future__ import annotations

import base64
import copy
import gzip
import importlib.util
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from html import escape
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from negolab import user_code
from negolab._internal import environment, manifest
from negolab._internal.files import atomic_write
from negolab.sweeps import kernels
from negolab.sweeps.folder import REPORT, SweepFolder, read_folder_plan
from negolab.sweeps.plan import notebook_path, plan_name, read_plan
from negolab.sweeps.run import Sweep
from negolab.sweeps.sources import Notebook, execute_notebook, write_modules
from negolab.user_code import CodeSource

PARAMETER = "run"
"""The parameter of a report's notebook that names the sweep's folder."""
DEFAULT_REPORT = "negolab_widgets.report"
"""The module that reports on a run whose plan names no notebook."""
_REMOTE_RESOURCE = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)\s*=\s*["'](?:https?:)?//""", re.IGNORECASE
)
PLOTLY_MIME = "application/vnd.plotly.v1+json"
BUNDLE = "plotly-cartesian.min.js.gz"
"""Plotly.js 4.1.1 (MIT license), cartesian bundle."""
BUNDLED = frozenset(
    {"bar", "box", "contour", "heatmap", "histogram", "histogram2d", "histogram2dcontour", "image", "pie", "scatter"}
    | {"scatterternary", "violin"}
)
"""Kinds of traces that the bundle can draw."""
_EMPTY_HEAD = re.compile(r"<th([^>]*)>(?:\s|&nbsp;)*</th>")
"""The corner cell of a pandas table, which is no row's or column's header."""
_WRITTEN_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
"""A table from Markdown text; those from pandas have attributes."""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval';
style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data:; base-uri 'none'; form-action 'none'">
<title>{title}</title><style>{style}</style></head>
<body><main>{body}</main>{scripts}</body></html>
"""


def write_report(
    run: Path,
    out: Path | None = None,
    source: Path | None = None,
    *,
    code: bool = False,
    check: Callable[[CodeSource, str], None],
) -> Path:
    """Write the report on a run as HTML; for a tournament, also write a file of matches next to it.

    Args:
        run: The folder of a run or sweep; a notebook's parameter `run`.
        out: The file to write (None: `report.html` in the folder).
        source: A notebook to run (None: the sweep's own, if its plan names one, or else the report that every run has).
        code: Show the notebook's code too.
        check: Called with the folder's own notebook, and why it is not run without asking; raises ValueError if this
            user has not run it before and does not agree.

    Returns:
        The file that was written.

    Raises:
        ValueError: The folder holds no records and no sweep, the notebook fails, or it shows content from another
            server.
    """
    is_sweep = "notebook" in manifest.read(run)
    if is_sweep:
        SweepFolder(run).done()  # raises an error that names a damaged finished cell
    named = is_sweep and read_folder_plan(run).report is not None and (run / REPORT).is_file()
    target = out or (run if run.is_dir() else run.parent) / "report.html"
    if source is None and not named:
        pages: dict[str, str] = import_module(DEFAULT_REPORT).report_pages(run, target.name)
    else:
        with tempfile.TemporaryDirectory(prefix="negolab-") as copy:
            notebook = _open_report(source) if source else _copy_report(run, Path(copy), check)
            page = notebook_page(_run_notebook(notebook, run.resolve()), f"{run.resolve().name}: report", code=code)
        if remote := _REMOTE_RESOURCE.search(page):
            raise ValueError(
                f"{notebook.path.name} loads content from another address, {remote[0][:100]}...: remove it"
            )
        pages = {target.name: page}
    for name, text in pages.items():
        atomic_write(target.with_name(name), text.encode())
    return target


def _open_report(file: Path) -> Notebook:
    if not file.is_file():
        raise ValueError(f"there is no notebook {file}")
    return Notebook(file)


def _copy_report(run: Path, folder: Path, check: Callable[[CodeSource, str], None]) -> Notebook:
    """Copy a sweep's own report and the modules that it imports, and nothing else, and check that this copy may run."""
    file = folder / REPORT
    file.write_bytes(user_code.read_file(run / REPORT))
    notebook = Notebook(file, home=run)
    why = f"{run / REPORT}, or a module that it imports, is code that you have not run on this machine"
    check(CodeSource(REPORT, notebook.sha256), why)
    write_modules(notebook.modules, folder)
    return notebook


def _run_notebook(notebook: Notebook, run: Path) -> Any:
    from papermill.exceptions import PapermillExecutionError

    source = notebook.path
    if PARAMETER not in notebook.parameters:
        raise ValueError(f"{source} has no parameter {PARAMETER}: it would not know which sweep to report on")
    variables = environment.scrubbed_environment((user_code.TRUSTED,), PLOTLY_RENDERER="plotly_mimetype")
    with tempfile.TemporaryDirectory(prefix="negolab-") as folder:
        kernel = kernels.start_kernel(variables, str(source.resolve().parent), notebook.startup())
        try:
            return execute_notebook(notebook.text, Path(folder) / REPORT, {PARAMETER: str(run)}, kernel)
        except PapermillExecutionError as error:
            why = f"{error.ename}: {' '.join(error.evalue.split())[:300]}"
            where = next((line for line in error.source.splitlines() if line.strip()), "")[:80]
            raise ValueError(f"{source.name} stopped in the cell that begins with `{where}`: {why}") from None
        finally:
            kernels.end_kernel(kernel)


def run_trial(plan: Path | str) -> Path:
    """Run a plan's trial (`--tiny`), for a report notebook opened before its sweep has been run.

    Args:
        plan: The plan's file.

    Returns:
        A new temporary folder with the sweep, which is never removed.

    Raises:
        ValueError: The plan is invalid.
        RuntimeError: Not all cells are done.
    """
    file = Path(plan)
    tiny_plan = read_plan(file).tiny_plan()
    folder = Path(tempfile.mkdtemp(prefix=f"negolab-{plan_name(file)}-"))
    progress = Sweep(tiny_plan, notebook_path(tiny_plan, file), folder, base=file.parent).run()
    if missing := progress.cells - progress.states.get("done", 0):
        raise RuntimeError(f"{missing} of {progress.cells} cells are not done: see {folder}")
    return folder


# The page.


def notebook_page(executed: Any, title: str, *, code: bool) -> str:
    """Return an executed notebook as a page, with its code if `code` is set."""
    from nbconvert import HTMLExporter

    notebook = copy.deepcopy(executed)
    kinds: set[str] = set()
    for output in _outputs(notebook):
        kinds |= _prepare(output["data"])
    # No templates from the working directory, which may be a stranger's: templates are code.
    exporter = HTMLExporter(template_name="basic", exclude_input=not code, extra_template_basedirs=[])
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = exporter.exclude_anchor_links = True
    exporter.embed_images = True
    body, _ = exporter.from_notebook_node(notebook)
    body = _WRITTEN_TABLE.sub(lambda table: _box(table[0], "Table", cls="wide words"), body)
    return make_page(title, body, kinds)


def make_page(title: str, body: str, kinds: set[str]) -> str:
    """Return a page, given its title, its content as HTML, and the kinds of traces in its figures."""
    style = files("negolab.formats").joinpath("colours.css").read_text("utf-8") + _text("report.css")
    return _PAGE.format(title=escape(title), style=style, body=body, scripts=_scripts(kinds) if kinds else "")


def _outputs(notebook: Any) -> Iterator[Any]:
    """Yield the outputs available in several forms."""
    for cell in notebook.cells:
        yield from (output for output in cell.get("outputs", ()) if "data" in output)


def _prepare(data: dict[str, Any]) -> set[str]:
    """Put a figure or table in its own scrolling box, and render Markdown; return the kinds of traces."""
    if PLOTLY_MIME in data:
        data["text/html"], kinds = draw_figure(data.pop(PLOTLY_MIME))
        for other in [name for name in data if name != "text/html"]:
            del data[other]
        return kinds
    if "text/markdown" in data:
        data["text/html"] = _render_markdown("".join(data.pop("text/markdown")))
    elif "<table" in (html := "".join(data.get("text/html", ""))):
        data["text/html"] = _box(_EMPTY_HEAD.sub(r"<td\1></td>", html), "Table")
    return set()


def draw_figure(figure: dict[str, Any], narrow: dict[str, Any] | None = None) -> tuple[str, set[str]]:
    """Return a figure, given as plain data, as HTML for `make_page`, and the kinds of its traces.

    `narrow` is the same figure as drawn on a phone; without it, the figure scrolls there.
    """
    layout = figure.get("layout", {})
    size = f"height: {int(layout.get('height') or 450)}px"
    size += f"; min-width: {int(layout['width'])}px" if layout.get("width") else ""
    plot = _figure_data(figure) + (_figure_data(narrow) if narrow else "")
    cls = "plot nl-fits" if narrow else "plot"
    kinds = {str(trace.get("type", "scatter")) for trace in figure.get("data", ())} | {"scatter"}
    return _box(f'<div class="{cls}" style="{size}">{plot}</div>', "Figure"), kinds


def _figure_data(figure: dict[str, Any]) -> str:
    # Inside a script, only the start of a tag could end it.
    text = json.dumps(figure, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


def _render_markdown(text: str) -> str:
    """Render Markdown generated by code, such as a sentence about a player whose name comes from somebody else's
    record.

    HTML is shown as text, no image is loaded, and a link shows its target but cannot be followed.
    """
    import mistune

    renderer: Any = mistune.HTMLRenderer(escape=True)
    renderer.link = lambda label, url, title=None: label if label == escape(url) else f"{label} ({escape(url)})"
    renderer.image = lambda label, url, title=None: label
    return str(mistune.create_markdown(renderer=renderer, plugins=["strikethrough", "table"])(text))


def _box(html: str, name: str, cls: str = "wide") -> str:
    return f'<div class="{cls}" role="group" tabindex="0" aria-label="{name}">{html}</div>'


def _scripts(kinds: set[str]) -> str:
    packed = base64.b64encode(_plotly(kinds)).decode()
    return f'<script type="text/plain" id="plotly">{packed}</script><script>{_text("report.js")}</script>'


def _plotly(kinds: set[str]) -> bytes:
    """Return the packed script that draws these kinds of traces."""
    if kinds <= BUNDLED:
        return files("negolab.sweeps").joinpath(BUNDLE).read_bytes()
    found = importlib.util.find_spec("plotly")
    if found is None or found.origin is None:
        raise ValueError(f"figures of type {', '.join(sorted(kinds - BUNDLED))} need plotly: install it")
    return gzip.compress((Path(found.origin).parent / "package_data" / "plotly.min.js").read_bytes(), 9)


def _text(name: str) -> str:
    return files("negolab.sweeps").joinpath(name).read_text("utf-8")
