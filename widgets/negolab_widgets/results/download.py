"""Files that the browser saves, and pictures drawn by the page's own Plotly, so that the kernel needs neither a browser
nor a network."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anywidget
import pandas as pd
import traitlets as t

from negolab.analysis import tables
from negolab_widgets.charts import paper
from negolab_widgets.results.choices import FigureChoice

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_ESM = """
const STEP = 40;
const save = (name, blob) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};
const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
// Plotly puts itself there when the page draws its first figure; a figure is on the page before it can be saved.
const drawn = async ({ figure, format, width, height }) => {
  if (!window.Plotly) throw new Error("the page has drawn no figure yet");
  const options = { format, width, height, scale: format === "png" ? 2 : 1, imageDataOnly: true };
  const data = await window.Plotly.toImage(figure, options);
  if (format === "svg") return new Blob([data], { type: "image/svg+xml" });
  return new Blob([bytes(data)], { type: "image/png" });
};
export default {
  render({ model, el }) {
    const heard = async (said, buffers) => {
      try {
        const blob = said.figure ? await drawn(said) : new Blob(buffers, { type: said.type });
        save(said.name, blob);
        model.send({ saved: said.name });
      } catch (error) {
        model.send({ failed: String(error.message ?? error).slice(0, 200) });
      }
    };
    model.on("msg:custom", heard);
    let page = null, frames = 120;
    const tell = () => {
      const width = Math.floor(page.clientWidth / STEP) * STEP;
      if (!width || width === model.get("width")) return;
      model.set("width", width);
      model.save_changes();
    };
    const watch = new ResizeObserver(tell);
    const find = () => {
      page = el.closest(".nl-page");
      if (page) watch.observe(page);
      else if (frames-- > 0) requestAnimationFrame(find);
    };
    find();
    return () => {
      watch.disconnect();
      model.off("msg:custom", heard);
    };
  },
};
"""
Format = Literal["svg", "png"]


class Download(anywidget.AnyWidget):
    """Let the browser save files and figures, and report the page's width.

    `told(sentence, is_fault)` is called with the result. `width` is the page's width in pixels (0 until it is known);
    what a browser sends is clipped to the range from 200 to 4000.
    """

    _esm = _ESM
    width = t.CInt(0).tag(sync=True)

    def __init__(self, told: Callable[[str, bool], None]) -> None:
        super().__init__(layout={"display": "none"})
        self._told = told
        self.on_msg(lambda _, said, __: self._hear(said))

    @t.validate("width")  # type: ignore[untyped-decorator]
    def _within(self, proposal: t.Bunch) -> int:
        return max(200, min(4000, int(proposal.value)))

    def file(self, name: str, data: bytes, kind: str) -> None:
        """Let the browser save a file with the media type `kind`."""
        self.send({"name": name, "type": kind}, buffers=[data])

    def picture(self, figure: Figure, name: str, form: Format, width: int) -> None:
        """Let the browser draw a figure for print, dark on white, and save it; a PNG has twice as many pixels."""
        import plotly.graph_objects as go

        plain: dict[str, Any] = json.loads(paper(go.Figure(figure)).to_json())
        size = {"width": width, "height": plain["layout"]["height"]}
        self.send({"name": name, "format": form, "figure": {**plain, "config": {"typesetMath": False}}, **size})

    def _hear(self, said: Any) -> None:
        match said:
            case {"saved": str(name)}:
                self._told(f"Saved {name[:100]}.", False)
            case {"failed": str(why)}:
                self._told(f"The file could not be made: {why[:200]}.", True)


MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
"""Media types by suffix."""


def to_bytes(frame: pd.DataFrame, suffix: str) -> bytes:
    """Convert a frame to CSV or Parquet; in CSV, text that begins like a formula is defused."""
    with tempfile.TemporaryDirectory(prefix="negolab-") as folder:
        file = Path(folder) / f"table.{suffix}"
        tables.write_table(frame, file)
        return file.read_bytes()


def file_name(run: str, choice: FigureChoice, suffix: str) -> str:
    """Return a file name that describes the content."""
    parts = [run, choice.outcome.key, *(factor.column for factor in choice.by)]
    return "-".join(filter(None, (re.sub(r"[^\w.]+", "-", part).strip("-.") for part in parts)))[:100] + f".{suffix}"
