export default {
  render({ model, el }) {
    const name = newId(), several = model.get("several");
    const group = make(el, "fieldset", "nl-choices");
    make(group, "legend", "widget-label", model.get("description"));
    const inputs = model.get("options").map((option) => {
      const label = make(group, "label");
      const input = make(label, "input");
      make(label, "span", "", option);
      input.type = several ? "checkbox" : "radio";
      input.name = name;
      input.value = option;
      input.addEventListener("change", () => field.tell());
      return input;
    });
    const read = () => {
      const chosen = inputs.filter((one) => one.checked).map((one) => one.value);
      return several ? chosen : chosen[0] ?? "";
    };
    const show = (value) => inputs.forEach((one) => { one.checked = [value].flat().includes(one.value); });
    const field = bind(model, el, read, show);
    return field.stop;
  },
};
