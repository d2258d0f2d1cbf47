"""Build the documentation site, offline and strictly: a warning, a broken link or a request elsewhere fails it.

    python .github/docs/build.py ../site

The sources are the guide, the notebooks, which are executed, and the docstrings. Nothing is written in the repository:
the folder named holds the pages, and beside it `.work` what they are made of. With --no-run, notebooks have no outputs.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import negolab

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def stage(work: Path) -> None:
    """Copy the guide, the notebooks, the changelog and the site's own pages to where Sphinx reads them."""
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("guide", "games"):
        shutil.copytree(ROOT / "notebooks" / folder, work / folder, ignore=shutil.ignore_patterns(".*"))
    for page in (work / "guide").glob("*.md"):
        page.write_text(page.read_text("utf-8").replace("](../../README.md)", "](../index.md#set-up)"), "utf-8")
    guide = work / "guide/README.md"
    # The sidebar has the groups of the guide's list; Sphinx warns of a page that the list lacks.
    groups = re.split(r"^(?:## (.+)|(.+):)$", guide.read_text("utf-8"), flags=re.M)[1:]
    with guide.open("a", encoding="utf-8") as file:
        for heading, subheading, text in zip(groups[::3], groups[1::3], groups[2::3], strict=True):
            if pages := re.findall(r"\(([\w-]+)\.md\)", text):
                caption = f":hidden:\n:caption: {heading or subheading}"
                file.write(f"\n\n```{{toctree}}\n{caption}\n\n{chr(10).join(pages)}\n```\n")
    shutil.copy(ROOT / "notebooks/tour.ipynb", work)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8").replace("](notebooks/", "](")
    (work / "changelog.md").write_text(changes, "utf-8")
    shutil.copy(HERE / "index.md", work)
    shutil.copy(HERE / "games.md", work / "games/index.md")
    write_reference(work / "api")


def write_reference(folder: Path) -> None:
    """Write a page for each module of `api.toml`, and one for `negolab` that says where its names are described."""
    folder.mkdir()
    values = {name: getattr(negolab, name) for name in negolab.__all__}
    rows = "".join(
        f"- {{py:obj}}`nl.{name} <{value.__module__}.{name}>`: {(value.__doc__ or '').partition(chr(10) * 2)[0]}\n"
        for name, value in values.items()
        if hasattr(value, "__module__")
    )
    own = "\n".join(
        f".. autofunction:: negolab.{n}" for n, v in values.items() if getattr(v, "__module__", "") == "negolab"
    )
    text = f"# Reference\n\nWhat `import negolab as nl` brings:\n\n{rows}\n```{{eval-rst}}\n{own}\n```\n"
    for group in tomllib.loads((HERE / "api.toml").read_text("utf-8"))["group"]:
        names = "\n".join(group["modules"])
        text += f"\n## {group['title']}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
        for module in group["modules"]:
            # A long name may break behind its dots.
            title = module.replace(".", ".\u200b")
            page = f"# {title}\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n"
            (folder / f"{module}.md").write_text(page, "utf-8")
    (folder / "index.md").write_text(text, "utf-8")


class Page(HTMLParser):
    """The ids of a page, its links, and what it loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        self.ids.update(values[key] for key in ("id", "name") if key in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "author"):
            self.loads.append(values.get("href", ""))
        elif "src" in values:
            self.loads.append(values["src"])


def faults(out: Path) -> Iterator[str]:
    """Yield links that lead nowhere, and whatever a page would load from another host."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in out.rglob("*.html")}
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    yield f"{path.relative_to(out)}: loads {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.relative_to(out)}: no file {link}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{path.relative_to(out)}: no place {link}"
    for path in out.rglob("*.css"):
        if re.search(r"url\([\"']?(https?:)?//", path.read_text("utf-8")):
            yield f"{path.relative_to(out)}: loads from another host"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of the pages, outside the repository")
    parser.add_argument("--no-run", action="store_true", help="show the notebooks without their outputs")
    options = parser.parse_args()
    out = options.out.resolve()
    if out.is_relative_to(ROOT):
        parser.error(f"{out} is inside the repository")
    work = out.with_name(f"{out.name}.work")
    stage(work)
    shutil.rmtree(out, ignore_errors=True)
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-c",
        HERE,
        "-d",
        work / "_doctrees",
        work,
        out,
    ]
    # Kernels warn of their own transport.
    profile = work / "_ipython/profile_default/ipython_kernel_config.py"
    profile.parent.mkdir(parents=True)
    profile.write_text("c.IPKernelApp.log_level = 'ERROR'\n")
    env = os.environ | {"NEGOLAB_RUN": "" if options.no_run else "1", "IPYTHONDIR": str(work / "_ipython")}
    if code := subprocess.run(sphinx, env=env).returncode:
        sys.exit(code)
    for path in (out / "_static").rglob("*"):
        if path.suffix == ".map" or path.name == "webpack-macros.html":  # the theme's, for its own authors: 3 MB
            path.unlink()
    if found := list(faults(out)):
        sys.exit("\n".join(found))
    print(f"{len(list(out.rglob('*.html')))} pages in {out}")


if __name__ == "__main__":
    main()
