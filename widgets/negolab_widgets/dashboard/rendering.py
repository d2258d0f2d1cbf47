"""Start a kernel, let it run a page's cells, and keep the HTML that this gives."""

from __future__ import annotations

import os
from typing import Any

from voila.notebook_renderer import NotebookRenderer
from voila.utils import get_page_config

from negolab_widgets.dashboard.pool import Warm


async def rendered(app: Any, notebook: str) -> Warm:
    """The page of a notebook (a file in the server's root folder) with a kernel of its own."""
    about = {"settings": app.app.settings, "log": app.log, "voila_configuration": app.voila_configuration}
    renderer = NotebookRenderer(
        voila_configuration=app.voila_configuration,
        traitlet_config=app.config,
        notebook_path=notebook,
        template_paths=app.template_paths,
        config_manager=app.config_manager,
        contents_manager=app.contents_manager,
        base_url=app.base_url,
        kernel_spec_manager=app.kernel_spec_manager,
        page_config=get_page_config(base_url=app.base_url, **about),
    )
    await renderer.initialize()
    manager = app.kernel_manager
    kernel = await manager.start_kernel(
        kernel_name=renderer.notebook.metadata.kernelspec.name, path="", env=dict(os.environ), **app.kernel_options
    )
    try:
        return Warm(kernel, await renderer.generate_content_str(kernel, manager.get_kernel(kernel)))
    except BaseException:
        await manager.shutdown_kernel(kernel, now=True)
        raise
