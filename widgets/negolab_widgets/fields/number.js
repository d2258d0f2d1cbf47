export default {
  render({ model, el }) {
    let value = 0;
    const parts = [];
    const label = (inside, input, text) => {
      const made = make(inside, "label", "widget-label", text);
      made.htmlFor = input.id = newId();
      return made;
    };
    const put = (number) => {
      value = Math.min(model.get("max"), Math.max(model.get("min"), number));
      parts.forEach((part) => part.show());
    };
    const choose = (number) => {
      put(number);
      field.tell();
    };
    if (model.get("has_slider")) {
      const box = make(el, "div", "nl-slider");
      const input = document.createElement("input");
      const name = label(box, input, "");
      input.type = "range";
      box.append(input);
      input.addEventListener("input", () => choose(Number(input.value)));
      parts.push({
        show: () => {
          for (const end of ["min", "max"]) input[end] = model.get(end);
          input.value = value;
          input.disabled = model.get("disabled");
          name.textContent = model.get("description");
          input.setAttribute("aria-valuetext", model.get("text").replace("{value}", value) || String(value));
        },
      });
      if (!model.get("name")) {
        const output = make(box, "output", "nl-slider-value");
        parts.push({ show: () => { output.textContent = input.getAttribute("aria-valuetext"); } });
      }
    }
    if (model.get("name")) {
      const box = make(el, "div", "nl-stepper");
      const steps = [["\u2212", -1, model.get("less")], ["+", 1, model.get("more")]];
      const buttons = stepButtons(box, steps, (by) => choose(value + by));
      const input = document.createElement("input");
      buttons[0].after(label(box, input, model.get("name")), input);
      input.type = "number";
      input.addEventListener("input", () => {
        const number = input.value.trim() ? Number(input.value) : NaN;
        // A value that cannot be sent unchanged is not sent.
        input.setCustomValidity(Number.isInteger(number) ? "" : model.get("fault"));
        if (Number.isInteger(number)) choose(number);
      });
      parts.push({
        show: () => {
          for (const end of ["min", "max"]) input[end] = model.get(end);
          if (input.value !== String(value)) input.value = value;
          input.setCustomValidity("");
          for (const part of [input, ...buttons]) part.disabled = model.get("disabled");
        },
      });
    }
    const redraw = () => parts.forEach((part) => part.show());
    const heard = ["min", "max", "description", "text", "disabled"].map((name) => `change:${name}`).join(" ");
    model.on(heard, redraw);
    const field = bind(model, el, () => value, put);
    return () => {
      field.stop();
      model.off(heard, redraw);
    };
  },
};
