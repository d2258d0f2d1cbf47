export default {
  render({ model, el }) {
    const group = make(el, "fieldset", "nl-likert");
    make(group, "legend", "widget-label", model.get("description"));
    const inputs = model.get("rows").flatMap(([key, statement]) => {
      const row = make(group, "div", "nl-likert-row"), name = newId();
      make(row, "div", "nl-likert-statement", statement).id = name;
      const choices = make(row, "div", "nl-likert-choices");
      choices.setAttribute("role", "radiogroup");
      choices.setAttribute("aria-labelledby", name);
      return model.get("options").map((option) => {
        const label = make(choices, "label");
        const input = make(label, "input");
        make(label, "span", "", option);
        input.type = "radio";
        input.name = `${name}-row`;
        input.addEventListener("change", () => field.tell());
        return { key, option, input };
      });
    });
    const read = () => Object.fromEntries(
      inputs.filter(({ input }) => input.checked).map(({ key, option }) => [key, option]));
    const show = (value) => inputs.forEach(({ key, option, input }) => { input.checked = value[key] === option; });
    const field = bind(model, el, read, show);
    return field.stop;
  },
};
