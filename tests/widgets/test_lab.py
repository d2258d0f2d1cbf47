"""The lab on a folder of a stranger's: JupyterLab, its kernels and Voila run nothing of it before a cell is run."""

from __future__ import annotations

import os
import py_compile
from pathlib import Path

import httpx2
import nbformat
import pytest
import websockets.sync.client

from negolab._internal.environment import absolute_paths
from tests.conftest import free_port, running
from tests.support.bots import V1, framed, message, read_frame
from tests.support.command import NEGOLAB


def run_in_kernel(address: str, headers: dict[str, str], code: str) -> str:
    """Run code in a kernel, as a page does, and return what it printed, or its error."""
    with websockets.sync.client.connect(address, additional_headers=headers, subprotocols=[V1]) as socket:  # type: ignore[list-item]
        asked = message("execute_request", {"code": code, "silent": False, "store_history": False})
        socket.send(framed(asked))
        while True:
            got = read_frame(socket.recv(60))  # type: ignore[arg-type]
            if got["parent_header"].get("msg_id") == asked["header"]["msg_id"] and got["msg_type"] in (
                "stream",
                "error",
            ):
                return str(got["content"].get("text") or got["content"])


CELL = """
import own, traitlets, json, pandas, negolab_widgets, sphinxcontrib.jsmath, concurrent.futures.process, platform
from functools import partial
from negolab._internal.workers import ProcessWorker
platform.java_ver()
assert "pie" not in __import__("negolab").list_games()
for name in "pandas", "own":
    worker = ProcessWorker(partial(__import__, name))
    worker.load()
    worker.kill()
print(own.VALUE, __import__("part").VALUE)
"""
"""Imports much that tries modules which need not be there, in the kernel and in processes of ours."""


@pytest.mark.long
def test_opening_a_strangers_folder_in_the_lab_runs_nothing_of_it(tmp_path: Path) -> None:
    """Modules that a kernel or JupyterLab looks for, compiled ones too, and a notebook whose page would run it."""
    leaves = f"open({str(tmp_path / 'ran')!r}, 'a').write(__file__)"
    got = tmp_path / "got"
    (got / "games").mkdir(parents=True)  # where notebooks of ours are copied
    (got / "module.py").write_text(leaves)
    py_compile.compile(str(got / "module.py"), cfile=str(got / "traitlets.pyc"))
    for name in ("ipykernel_launcher", "sitecustomize", "storemagic", "voila", "json", "negolab", "jupyterlab"):
        (got / f"{name}.py").write_text(leaves)
        (got / f"games/{name}.py").write_text(leaves)
    for folder in (got, got / "games"):
        (folder / "own.py").write_text("from part import VALUE")
        (folder / "part.py").write_text("VALUE = 7")
        for name in (
            "brotli",
            "numexpr",
            "xarray",
            "_winapi",
            "java",
            "sitecustomize",
        ):  # which installed packages and Python try
            (folder / f"{name}.py").write_text(leaves)
        (folder / "sphinxcontrib").mkdir()
        (folder / "sphinxcontrib/__init__.py").write_text(leaves)  # in place of an installed namespace
    cell = nbformat.v4.new_code_cell(leaves.replace("__file__", "'cell'"))
    for folder in (got, got / "games"):
        (folder / "profile_default/startup").mkdir(parents=True)
        (folder / "profile_default/startup/00.py").write_text(leaves)
    (got / "evil-1.0.dist-info").mkdir()
    (got / "evil-1.0.dist-info/entry_points.txt").write_text("[negolab.games]\npie = numexpr")
    # The page would restore this widget, whose module is JavaScript, when the notebook is opened.
    saved = {"application/vnd.jupyter.widget-state+json": {"state": {"a": {"model_module": "anywidget"}}}}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": saved}), got / "b.ipynb")
    (got / "lab").mkdir()
    run = f"cycler.__init__.__globals__.os.system('touch {tmp_path / 'ran'}')"
    (got / "lab/index.html.j2").write_text(f"{{{{ {run} }}}}")
    command = [*NEGOLAB, "lab", "--dir", str(got), "--no-browser", f"--port={free_port()}"]
    # A relative or empty entry would mean the folder in which a kernel runs.
    env = {**os.environ, "PYTHONPATH": os.pathsep + os.environ.get("PYTHONPATH", str(tmp_path / "libraries"))}
    env |= {"IPYTHONDIR": "", "PYTHONSTARTUP": "brotli.py"}
    with running(command, "negolab is at", cwd=tmp_path, env=env) as (line, _), httpx2.Client(timeout=60) as client:
        address, _, token = line.split()[3].partition("lab/tree/")
        headers = {"Authorization": f"token {token.rpartition('token=')[2]}"}
        assert client.get(f"{address}voila/render/b.ipynb", headers=headers).status_code == 404
        assert client.get(f"{address}nbconvert/html/b.ipynb", headers=headers).status_code == 200
        opened = client.get(f"{address}api/contents/b.ipynb", headers=headers).json()
        assert opened["content"]["cells"] and "widgets" not in opened["content"]["metadata"]
        for path in ("tour.ipynb", "games/split.ipynb"):
            session = {"name": path, "path": path, "type": "notebook", "kernel": {"name": "python3"}}
            made = client.post(f"{address}api/sessions", headers=headers, json=session).json()
            socket = f"{address}api/kernels/{made['kernel']['id']}/channels".replace("http", "ws")
            assert run_in_kernel(socket, headers, CELL) == "7 7\n"
    assert not (tmp_path / "ran").exists()


def test_a_relative_variable_means_the_folder_where_the_command_was_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "IPYTHONDIR"):
        monkeypatch.setenv(name, f"mine{os.pathsep}")
    found = absolute_paths()
    assert {found[name] for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "IPYTHONDIR")} == {str(tmp_path / "mine")}
