export default {
  render({ model, el }) {
    el.classList.add("nl-checklist");
    const box = make(el, "div", "nl-wide");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", model.get("caption"));
    const table = make(box, "table", "nl-facts");
    make(table, "caption", "nl-hidden", model.get("caption"));
    const head = make(make(table, "thead"), "tr");
    const body = make(table, "tbody");
    const heads = model.get("head").map((text, at) => {
      const th = make(head, "th");
      th.scope = "col";
      const button = make(th, "button", "", text);
      button.type = "button";
      button.title = model.get("sort_by").replace("{column}", text.toLowerCase());
      button.addEventListener("click", () => {
        const again = model.get("sort") === at;
        model.set("falling", again ? !model.get("falling") : at > 0);
        model.set("sort", at);
        model.save_changes();
      });
      return th;
    });
    const rows = model.get("cells").map((cells, at) => {
      const tr = document.createElement("tr");
      const label = make(make(tr, "th"), "label");
      tr.firstChild.scope = "row";
      const input = make(label, "input");
      input.type = "checkbox";
      make(label, "bdi", "", cells[0]);
      cells.slice(1).forEach((text) => make(tr, "td", "", text));
      const mark = make(tr, "td", "nl-mark");
      const change = () => {
        tr.classList.toggle("nl-chosen", input.checked);
        field.tell();
      };
      input.addEventListener("change", change);
      tr.addEventListener("click", (event) => {
        if (event.target.closest("label") || input.disabled) return;
        input.checked = !input.checked;
        change();
      });
      return { tr, input, mark };
    });
    const enable = () => rows.forEach(({ input }) => { input.disabled = model.get("disabled"); });
    const show = (value) => {
      const chosen = new Set(value);
      rows.forEach(({ tr, input }, at) => {
        input.checked = chosen.has(at);
        tr.classList.toggle("nl-chosen", chosen.has(at));
      });
    };
    const read = () => rows.flatMap(({ input }, at) => (input.checked ? [at] : []));
    const mark = () => model.get("marks").forEach((text, at) => {
      if (rows[at].mark.textContent !== text) rows[at].mark.textContent = text;
    });
    const order = () => {
      const focus = document.activeElement;
      body.replaceChildren(...model.get("order").map((at) => rows[at].tr));
      if (body.contains(focus)) focus.focus();
      heads.forEach((th, at) => {
        const by = model.get("sort") === at ? (model.get("falling") ? "descending" : "ascending") : "none";
        th.setAttribute("aria-sort", by);
      });
    };
    const sorted = () => { order(); box.scrollTop = 0; };
    const heard = { disabled: enable, marks: mark, order, sort: sorted, falling: sorted };
    for (const [name, draw] of Object.entries(heard)) model.on(`change:${name}`, draw);
    enable(); mark(); order();
    const field = bind(model, el, read, show);
    return () => {
      field.stop();
      for (const [name, draw] of Object.entries(heard)) model.off(`change:${name}`, draw);
    };
  },
};
