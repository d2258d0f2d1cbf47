// What a field shows travels in messages of its own, in order with the presses of the page, and no more than ten a
// second. ipywidgets' own way would hold a change back while the kernel is busy, and let it arrive after a press.
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
  // A press carries the value, which then need not be told again.
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
