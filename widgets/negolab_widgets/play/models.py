"""Fields to choose a language model as a player (endpoint, model, output mode), and the endpoints of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from negolab._internal.workers import run_blocking
from negolab.studies.host_config import KnownEndpoints, build_host_config
from negolab_widgets.layout import box, column, is_visible, set_visible, warning

if TYPE_CHECKING:
    from negolab.llm.endpoint.endpoint import Endpoint


MODEL_CHOICE = "a language model"
MODEL_DESCRIPTION = "Behind an OpenAI-compatible endpoint. It sees only what its seat may know, and it may be slow."
NO_ENDPOINT = "No endpoint is configured: start negolab serve with --base-url URL."
OUTPUT_MODES = (("its own words", "free"), ("a form that lists the legal moves", "schema"))


class ModelChoice:
    """Fields that name a model as a player.

    Args:
        listed: Lists the endpoints: their `url`, the `names` of their models, and `why` there are none.
    """

    def __init__(self, listed: Callable[[], Sequence[dict[str, Any]]]) -> None:
        self._list_endpoints = listed
        self._endpoints: dict[str, dict[str, Any]] = {}
        self._no_endpoint_text = NO_ENDPOINT
        self._url = w.Dropdown(description="Endpoint")
        self._model = w.Combobox(description="Model", placeholder="its name at the endpoint", ensure_option=False)
        self._output_mode = w.Dropdown(description="It answers in", options=OUTPUT_MODES)
        self._settings = w.Text(description="More settings", placeholder="temperature=0.7,max_tokens=300")
        self._notice = w.HTML(warning(""))
        self._url.observe(lambda _: self._endpoint_changed(), "value")
        fields = box(self._url, self._model, self._output_mode, self._settings, cls="nl-form")
        self.widget = column(fields, self._notice)
        set_visible(self.widget, False)

    def show(self, visible: bool) -> None:
        """Show or hide the fields; list the endpoints at first, and again while one of them has no models."""
        appears = visible and not is_visible(self.widget)
        set_visible(self.widget, visible)
        if appears and not (self._endpoints and all(each["names"] for each in self._endpoints.values())):
            self._load_endpoints()

    def _load_endpoints(self) -> None:
        try:
            self._endpoints = {each["url"]: each for each in self._list_endpoints()}
        except ValueError as error:  # an address in the environment that is none
            self._no_endpoint_text = str(error)
        if self._url.options != tuple(self._endpoints):
            self._url.options = tuple(self._endpoints)
            self._url.value = next(iter(self._endpoints), None)
        self._offer_models()

    def name(self) -> str:
        """Return the player's name, such as `llm:smollm2,form=schema`; raise ValueError if a model is missing."""
        model, more = self._model.value.strip(), self._settings.value.strip().strip(",")
        if not self._endpoints:
            raise ValueError(self._no_endpoint_text)
        if not model or "," in model:
            raise ValueError("Choose a model, or type its name at the endpoint (without a comma).")
        first = self._url.value == next(iter(self._endpoints))
        form = self._output_mode.value
        parts = [f"llm:{model}", *(["form=schema"] if form == "schema" else []), *([more] if more else [])]
        return ",".join([*parts, *([] if first else [f"base_url={self._url.value}"])])

    def _endpoint_changed(self) -> None:
        """Forget the model's name, which means nothing, or another model, at another endpoint."""
        endpoint = self._endpoints.get(self._url.value or "", {"names": []})
        if self._model.value not in endpoint["names"]:
            self._model.value = ""
        self._offer_models()

    def _offer_models(self) -> None:
        endpoint = self._endpoints.get(self._url.value or "", {"names": [], "why": self._no_endpoint_text})
        self._model.options = tuple(endpoint["names"])
        if endpoint["names"] and not self._model.value:
            self._model.value = endpoint["names"][0]
        self._notice.value = warning(endpoint["why"])


class LocalEndpoints:
    """The endpoints that this process's environment names, read when a model is first asked for: a fault there disturbs
    no other player."""

    @cached_property
    def _endpoints(self) -> KnownEndpoints:
        return build_host_config("", (), None, os.environ).models()

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> Endpoint:
        """Return one endpoint, as `KnownEndpoints.endpoint` does."""
        return self._endpoints.endpoint(base_url, key)

    def listed(self) -> Sequence[dict[str, Any]]:
        """List the endpoints; raise ValueError if the environment names an address that is none."""
        return run_blocking(self._endpoints.listed())
