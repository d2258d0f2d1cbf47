"""`lab`: JupyterLab on a copy of the notebooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from negolab_widgets.dashboard.environment import notebooks
from negolab_widgets.dashboard.telling import tell

_IGNORED = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")


def lab(folder: Path, port: int, browser: bool) -> int:
    """Copy the notebooks to `folder` (files that are there already stay as they are) and open JupyterLab on it."""
    shutil.copytree(notebooks(), folder, dirs_exist_ok=True, copy_function=_copy_new, ignore=_IGNORED)
    tell(f"your copy of the notebooks is in {folder.resolve()}")
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", "--ip=127.0.0.1", "--LabApp.news_url=None"]
    command += [f"--ServerApp.root_dir={folder.resolve()}", *([] if browser else ["--no-browser"])]
    command += ["--ServerApp.allow_root=True"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    process = subprocess.Popen(command, cwd=str(folder), start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _copy_new(source: str, target: str) -> str:
    return target if Path(target).exists() else str(shutil.copy2(source, target))
