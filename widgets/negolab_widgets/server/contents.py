"""The notebooks that JupyterLab opens, without saved widgets, because the page would run their code before any cell."""

from __future__ import annotations

from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from typing_extensions import override


class Contents(AsyncLargeFileManager):  # type: ignore[misc]
    """Serves notebooks without the state of their widgets, which are drawn when the cells run."""

    @override
    async def get(self, path: str, *args: Any, **options: Any) -> Any:
        model = await super().get(path, *args, **options)
        if model["type"] == "notebook" and model["content"] is not None:
            model["content"]["metadata"].pop("widgets", None)
        return model
