"""Choose a language model as a player: endpoint, model, how it answers; what results is a player's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from negolab_widgets.tables.controls import column, shown_if, warning

MODEL = "a language model"
ABOUT = "Behind an OpenAI-compatible endpoint. It is told what its seat may know, and takes its time to answer."
NOWHERE = "No endpoint is known here: start with negolab serve --base-url URL."
FORMS = (("its own words", "free"), ("a form of what is legal now", "schema"))


class ModelChoice:
    """Fields that say which model; `listed()` asks for the endpoints: their `url`, `names` and `why` there are none."""

    def __init__(self, listed: Callable[[], Sequence[dict[str, Any]]]) -> None:
        self._listed = listed
        self._found: dict[str, dict[str, Any]] = {}
        self._nowhere = NOWHERE
        self._url = w.Dropdown(description="Endpoint")
        self._model = w.Combobox(description="Model", placeholder="its name at the endpoint", ensure_option=False)
        self._form = w.Dropdown(description="It answers in", options=FORMS)
        self._more = w.Text(description="More settings", placeholder="temperature=0.7,max_tokens=300")
        self._notice = w.HTML(warning(""))
        self._visible = False
        self._url.observe(lambda _: self._other(), "value")
        fields = w.Box([self._url, self._model, self._form, self._more])
        fields.add_class("nl-form")
        self.widget = column(fields, self._notice)
        shown_if(self.widget, False)

    def show(self, visible: bool) -> None:
        """Put the fields on the page; the endpoints are asked when they are shown first, and again each time that they
        appear while one of them has no names."""
        appears, self._visible = visible and not self._visible, visible
        shown_if(self.widget, visible)
        if appears and not (self._found and all(each["names"] for each in self._found.values())):
            self._ask()

    def _ask(self) -> None:
        try:
            self._found = {each["url"]: each for each in self._listed()}
        except ValueError as error:  # an address in the environment that is none
            self._nowhere = str(error)
        if self._url.options != tuple(self._found):
            self._url.options = tuple(self._found)
            self._url.value = next(iter(self._found), None)
        self._offer()

    def name(self) -> str:
        """The player's name, such as `llm:smollm2,form=schema`; `ValueError` if a model is missing."""
        model, more = self._model.value.strip(), self._more.value.strip().strip(",")
        if not self._found:
            raise ValueError(self._nowhere)
        if not model or "," in model:
            raise ValueError("Choose a model, or type the name that its endpoint has for it (without a comma).")
        first = self._url.value == next(iter(self._found))
        form = self._form.value
        parts = [f"llm:{model}", *(["form=schema"] if form == "schema" else []), *([more] if more else [])]
        return ",".join([*parts, *([] if first else [f"base_url={self._url.value}"])])

    def _other(self) -> None:
        """At another endpoint a model's name means nothing, or another model."""
        found = self._found.get(self._url.value or "", {"names": []})
        if self._model.value not in found["names"]:
            self._model.value = ""
        self._offer()

    def _offer(self) -> None:
        found = self._found.get(self._url.value or "", {"names": [], "why": self._nowhere})
        self._model.options = tuple(found["names"])
        if found["names"] and not self._model.value:
            self._model.value = found["names"][0]
        self._notice.value = warning(found["why"])
