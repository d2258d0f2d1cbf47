"""Reports on sweeps: a notebook is run on a sweep's folder and becomes one self-contained HTML file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from negolab import user_code
from negolab._internal import environment
from negolab._internal.files import atomic_write
from negolab.sweeps import kernels
from negolab.sweeps.folder import REPORT, SweepFolder, read_folder_plan
from negolab.sweeps.notebook import Notebook, execute_notebook, write_modules
from negolab.sweeps.plan import notebook_path, plan_name, read_plan
from negolab.sweeps.report_page import report_page
from negolab.sweeps.run import Sweep
from negolab.user_code import CodeSource

PARAMETER = "run"
"""The parameter of a report's notebook that names the sweep's folder."""
DEFAULT_REPORT = Path(__file__).parent / "report.ipynb"
"""The report notebook for a plan that names none."""
_REMOTE_RESOURCE = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)\s*=\s*["'](?:https?:)?//""", re.IGNORECASE
)


def write_report(
    run: Path,
    out: Path | None = None,
    source: Path | None = None,
    *,
    code: bool = False,
    check: Callable[[CodeSource, str], None],
) -> Path:
    """Run a report notebook on a sweep and write it as HTML.

    Args:
        run: The sweep's folder; the notebook's parameter `run`.
        out: The file to write (None: `report.html` in the folder).
        source: The notebook (None: the folder's own, if its plan names one, else one for any sweep).
        code: Show the notebook's code too.
        check: Called with the folder's own notebook, and why it is not run unasked; raises ValueError if this user has
            not run it before and does not say yes.

    Returns:
        The file that was written.

    Raises:
        ValueError: The folder holds no sweep, the notebook fails, or it shows content of another server.
    """
    SweepFolder(run).done()  # names a finished cell that is damaged
    named = read_folder_plan(run).report is not None and (run / REPORT).is_file()
    with tempfile.TemporaryDirectory(prefix="negolab-") as copy:
        if source is None and named:
            notebook = _copy_report(run, Path(copy), check)
        else:
            notebook = _open_report(source or DEFAULT_REPORT)
        page = report_page(_run_notebook(notebook, run.resolve()), f"{run.resolve().name}: report", code=code)
    if remote := _REMOTE_RESOURCE.search(page):
        raise ValueError(
            f"{notebook.path.name} shows what stands at another address, {remote[0][:100]}...: leave that out"
        )
    target = out or run / "report.html"
    atomic_write(target, page.encode())
    return target


def _open_report(file: Path) -> Notebook:
    if not file.is_file():
        raise ValueError(f"there is no notebook {file}")
    return Notebook(file)


def _copy_report(run: Path, folder: Path, check: Callable[[CodeSource, str], None]) -> Notebook:
    """Copy a sweep's own report and the modules that it imports, and no more, and check that this copy may run."""
    file = folder / REPORT
    file.write_bytes(user_code.read_file(run / REPORT))
    notebook = Notebook(file, home=run)
    why = f"{run / REPORT}, or a module that it imports, is code that you have not run here"
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
        kernel = kernels.start_kernel(variables, str(source.resolve().parent))
        try:
            return execute_notebook(source, Path(folder) / REPORT, {PARAMETER: str(run)}, kernel)
        except PapermillExecutionError as error:
            why = f"{error.ename}: {' '.join(error.evalue.split())[:300]}"
            where = next((line for line in error.source.splitlines() if line.strip()), "")[:80]
            raise ValueError(f"{source.name} stopped in the cell that begins with `{where}`: {why}") from None
        finally:
            kernels.end_kernel(kernel)


def run_trial(plan: Path | str) -> Path:
    """Run a plan's trial (`--tiny`), for a report notebook that is opened before its sweep was run.

    Args:
        plan: The plan's file.

    Returns:
        A new temporary folder with the sweep, which nothing removes.

    Raises:
        ValueError: The plan is wrong.
        RuntimeError: Not all cells are done.
    """
    file = Path(plan)
    tiny_plan = read_plan(file).tiny_plan()
    folder = Path(tempfile.mkdtemp(prefix=f"negolab-{plan_name(file)}-"))
    progress = Sweep(tiny_plan, notebook_path(tiny_plan, file), folder, base=file.parent).run()
    if missing := progress.cells - progress.states.get("done", 0):
        raise RuntimeError(f"{missing} of {progress.cells} cells are not done: see {folder}")
    return folder
