"""A report: a notebook is run on a sweep's folder and becomes one HTML file that needs nothing else."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from negolab import environment
from negolab.disk import written
from negolab.sweep import kernels, notebook
from negolab.sweep.execution import executed
from negolab.sweep.folder import REPORT
from negolab.sweep.standing import read

PARAMETER = "run"
"""The parameter of a report's notebook that names the sweep's folder."""
PLAIN = Path(__file__).parent / "report.ipynb"
"""The report on a sweep whose plan names none."""
_ELSEWHERE = ("mathjax_url", "require_js_url", "jquery_url", "jupyter_widgets_base_url", "mermaid_js_url")
"""What a page would ask other people's servers for."""
_TYPESETTING = re.compile(r"""<script\b[^>]*\bsrc="https:[^"]*MathJax[^"]*"[^>]*></script>""", re.IGNORECASE)
"""Plotly asks for a typesetter of formulas, which no figure needs that has none."""
_STYLE = "<style>main { max-width: 70rem; margin: 0 auto; }</style>"
"""Lines that can be read on a wide screen."""
_ASKS = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)\s*=\s*["'](?:https?:)?//""", re.IGNORECASE)


def report(run: Path, out: Path | None = None, source: Path | None = None, *, code: bool = False) -> Path:
    """Run a notebook with the parameter `run` and write what it shows to `out` (default: `report.html` in the sweep's
    folder), with its `code` if that is asked for. `source`: by default the one that the plan named, else a plain one
    for any sweep. `ValueError` says what is wrong with the folder, the notebook, or in it."""
    read(run)
    own = run / REPORT
    source = source or (own if own.is_file() else PLAIN)
    page = _page(_executed(source, run.resolve()), f"{run.resolve().name}: report", code=code)
    if found := _ASKS.search(page):
        raise ValueError(f"{source.name} shows what stands at another address, {found[0][:100]}...: leave that out")
    target = out or run / "report.html"
    written(target, page.encode())
    return target


def _executed(source: Path, run: Path) -> Any:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    if not source.is_file():
        raise ValueError(f"there is no notebook {source}")
    if PARAMETER not in papermill.inspect_notebook(notebook.loaded(source)):
        raise ValueError(f"{source} has no parameter {PARAMETER}: it would not know which sweep to report on")
    # Figures bring their own script along, once.
    own = environment.scrubbed(PLOTLY_RENDERER="notebook")
    with tempfile.TemporaryDirectory(prefix="negolab-") as folder:
        kernel = kernels.started(own, str(source.resolve().parent))
        try:
            return executed(source, Path(folder) / REPORT, {PARAMETER: str(run)}, kernel)
        except PapermillExecutionError as error:
            why = f"{error.ename}: {' '.join(error.evalue.split())[:300]}"
            where = next((line for line in error.source.splitlines() if line.strip()), "")[:80]
            raise ValueError(f"{source.name} stopped in the cell that begins with `{where}`: {why}") from None
        finally:
            kernels.ended(kernel)


def _page(executed: Any, title: str, *, code: bool) -> str:
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(exclude_input=not code, exclude_input_prompt=True, exclude_output_prompt=True)
    exporter.embed_images = True
    for name in _ELSEWHERE:
        setattr(exporter, name, "")
    text, _ = exporter.from_notebook_node(executed, resources={"metadata": {"name": title}})
    return _TYPESETTING.sub("", text).replace("</head>", f"{_STYLE}</head>", 1)
