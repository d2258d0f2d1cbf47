// What a field shows is sent in separate messages, in order with the page's presses, at most ten per second. With
// ipywidgets' own mechanism, a change would be held back while the kernel is busy, and could arrive after a press.
const bind = (model, el, read, show) => {
  let timer = 0, due = false;
  const tell = () => {
    if (timer) {
      due = true;
      return;
    }
    due = false;
    model.send({ value: read() });
    timer = setTimeout(() => {
      timer = 0;
      if (due) tell();
    }, 100);
  };
  const draw = () => {
    due = false;
    show(model.get("shown")[1]);
  };
  // A press carries the value, which then does not have to be sent again.
  el.nlRead = () => {
    due = false;
    return read();
  };
  model.on("change:shown", draw);
  draw();
  return { tell, stop: () => { due = false; model.off("change:shown", draw); } };
};
let made = 0;
const newId = () => `nl-field-${++made}-${Math.random().toString(36).slice(2)}`;
const make = (inside, tag, cls = "", text = "") => {
  const made = document.createElement(tag);
  made.className = cls;
  made.textContent = text;
  inside.append(made);
  return made;
};
const stepButtons = (inside, steps, step) => steps.map(([text, by, hint]) => {
  const button = make(inside, "button", "jupyter-button nl-step", text);
  button.type = "button";
  button.title = hint;
  button.addEventListener("click", () => step(by));
  return button;
});
