export default {
  render({ model, el }) {
    const name = newId();
    const group = make(el, "div", "nl-cards");
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", model.get("description"));
    const inputs = model.get("options").map(([key, title, line, picture]) => {
      const card = make(group, "label", "nl-game");
      const input = make(card, "input");
      input.type = "radio";
      input.name = name;
      input.value = key;
      input.addEventListener("change", () => field.tell());
      make(card, "span").innerHTML = picture;
      const words = make(card, "span", "nl-game-words");
      make(words, "b", "", title);
      make(words, "span", "nl-soft", line);
      return input;
    });
    const read = () => inputs.find((one) => one.checked)?.value ?? "";
    const show = (value) => inputs.forEach((one) => { one.checked = one.value === value; });
    const field = bind(model, el, read, show);
    return field.stop;
  },
};
