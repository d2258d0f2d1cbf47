"""An executed notebook as HTML: its code, and the words and pictures it showed. Nothing in it is run."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from negolab_widgets.html import Markup, element, folded, join, panel, said

LONGEST = 20_000
"""Characters of one output that are shown."""
MARK = "papermill-error-cell-tag"
"""On cells that papermill adds to say where an error was."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def drawn(file: Path) -> Markup:
    """The notebook in a file; `ValueError` if it cannot be read."""
    import nbformat  # a third of a second to import

    try:
        cells = nbformat.read(file, 4).cells
    except Exception as error:  # nbformat raises whatever its readers raise
        raise ValueError(f"{file} cannot be shown: {error}") from None
    own = [cell for cell in cells if MARK not in cell.metadata.get("tags", [])]
    return panel("Its notebook", join(_cell(number, cell) for number, cell in enumerate(own, 1)))


def _cell(number: int, cell: Any) -> Markup:
    source = element("pre", cell.source, cls="nl-source")
    if cell.cell_type != "code":
        return said(cell.source)
    tags = cell.metadata.get("tags", [])
    code = source if "injected-parameters" in tags else folded(f"cell {number}", source)
    return join([code, *(_output(output) for output in cell.get("outputs", []))])


def _output(output: Any) -> Markup:
    return join(_parts(output))


def _parts(output: Any) -> Iterator[Markup]:
    if output.output_type == "stream":
        yield _text(output.text)
    elif output.output_type == "error":
        yield element("pre", _COLOURS.sub("", "\n".join(output.traceback))[-LONGEST:], cls="nl-source nl-bad")
    elif picture := _picture(output.data.get("image/png")):
        yield picture
    elif "application/vnd.plotly.v1+json" in output.data:
        yield element("p", "A figure: open the notebook in JupyterLab to see it.")
    elif words := output.data.get("text/plain"):
        yield _text(words)


def _text(words: str) -> Markup:
    short = words if len(words) <= LONGEST else words[:LONGEST] + "\n..."
    return element("pre", _COLOURS.sub("", short), cls="nl-source")


def _picture(data: Any) -> Markup | None:
    """A picture, if it is one: what stands in an address must be nothing else."""
    try:
        found = base64.b64decode("".join(str(data).split()), validate=True) if data else b""
    except binascii.Error:
        return None
    if not found.startswith(b"\x89PNG"):
        return None
    whole = base64.b64encode(found).decode()
    return element("img", src=f"data:image/png;base64,{whole}", alt="a picture that the notebook shows")
