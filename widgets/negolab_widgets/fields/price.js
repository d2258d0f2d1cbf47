export default {
  render({ model, el }) {
    const step = (by) => {
      const found = /^\s*\$?\s*(\d{1,9})(?:\.(\d{1,2}))?\s*$/.exec(input.value);
      const from = found ? Number(found[1]) * 100 + Number((found[2] ?? "").padEnd(2, "0")) : model.get("base");
      input.value = (Math.min(model.get("max"), Math.max(model.get("min"), from + by)) / 100).toFixed(2);
      field.tell();
    };
    const all = model.get("steps");
    const less = stepButtons(el, all.filter(([, by]) => by < 0), step);
    const box = make(el, "div", "widget-text");
    const more = stepButtons(el, all.filter(([, by]) => by > 0), step);
    const label = make(box, "label", "widget-label", model.get("description"));
    const input = make(box, "input");
    label.htmlFor = input.id = newId();
    input.type = "text";
    input.inputMode = "decimal";
    input.autocomplete = "off";
    input.placeholder = model.get("placeholder");
    input.addEventListener("input", () => field.tell());
    const draw = () => { for (const part of [input, ...less, ...more]) part.disabled = model.get("disabled"); };
    model.on("change:disabled", draw);
    draw();
    const field = bind(model, el, () => input.value, (text) => { if (input.value !== text) input.value = text; });
    return () => {
      field.stop();
      model.off("change:disabled", draw);
    };
  },
};
