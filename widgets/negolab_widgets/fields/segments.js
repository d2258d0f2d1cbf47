export default {
  render({ model, el }) {
    const name = newId();
    const head = make(el, "div", "nl-segments-head");
    const title = make(head, "div", "nl-strong", model.get("description"));
    const about = make(head, "div", "nl-soft");
    const group = make(el, "div", "nl-segments-row");
    title.id = `${name}-title`;
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-labelledby", title.id);
    const cells = model.get("options").map((option) => {
      const cell = make(group, "label", "nl-segment");
      const input = make(cell, "input", "nl-segment-input");
      input.type = "radio";
      input.name = name;
      make(cell, "span", "nl-segment-name", option);
      input.addEventListener("change", () => field.tell());
      return { input, note: make(cell, "span", "nl-segment-note"), mark: make(cell, "span", "nl-segment-mark") };
    });
    group.dataset.count = cells.length;
    const draw = () => {
      about.textContent = model.get("about");
      cells.forEach(({ input, note, mark }, at) => {
        input.disabled = model.get("disabled");
        note.textContent = model.get("notes")[at] || "";
        mark.textContent = model.get("marks")[at] || "";
      });
    };
    model.on("change", draw);
    draw();
    const read = () => cells.findIndex(({ input }) => input.checked);
    const show = (value) => cells.forEach(({ input }, at) => { input.checked = at === value; });
    const field = bind(model, el, read, show);
    el.classList.add("nl-segments");
    return () => {
      field.stop();
      model.off("change", draw);
    };
  },
};
