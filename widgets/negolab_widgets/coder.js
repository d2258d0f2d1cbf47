// One text at a time. Keys mark codes, Enter saves the marks, and Backspace undoes the last answer.
const KEYS = "1234567890qwertyuiopasdfghjklzxcvbnm";
const make = (parent, tag, cls = "", text = "") => {
  const made = parent.appendChild(document.createElement(tag));
  if (cls) made.className = cls;
  made.textContent = text;
  return made;
};

export default {
  render({ model, el }) {
    el.classList.add("nl-coder");
    const grid = make(el, "div", "nl-coder-grid");
    const head = make(grid, "div", "nl-coder-head");
    const count = make(head, "p", "nl-coder-count nl-number");
    count.setAttribute("role", "status");
    const bar = make(head, "progress", "nl-coder-bar");
    bar.setAttribute("aria-label", "Coded");
    const said = make(grid, "div", "nl-coder-said");
    const before = make(said, "ol", "nl-coder-before");
    before.setAttribute("aria-label", "What was said before");
    before.tabIndex = 0;
    const text = make(said, "blockquote", "nl-coder-text");
    const foot = make(grid, "div", "nl-coder-foot");
    const choices = make(grid, "div", "nl-coder-codes");
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", "Codes");
    choices.tabIndex = 0;
    let marks = {};

    const isScale = (code) => Array.isArray(code.scale);
    const steps = ({ scale: [low, high] }) => Array.from({ length: high - low + 1 }, (_, at) => low + at);
    // Each press toggles yes and no; a scale goes up by one, and from its end back to no answer.
    const press = (code) => {
      const now = marks[code.name];
      if (!isScale(code)) marks[code.name] = now ? undefined : 1;
      else marks[code.name] = now === undefined ? code.scale[0] : now < code.scale[1] ? now + 1 : undefined;
      draw();
    };
    const rows = model.get("codes").map((code, at) => {
      const row = make(choices, "div", "nl-coder-code");
      const button = make(row, "button", "nl-coder-mark");
      button.type = "button";
      make(button, "kbd", "", KEYS[at] || "");
      make(button, "span", "nl-coder-name", code.name);
      const shown = make(button, "span", "nl-coder-value nl-number");
      const about = make(row, "p", "", code.definition);
      if (code.examples?.length) about.title = code.examples.join("\n");
      button.addEventListener("click", () => press(code));
      const scale = isScale(code) ? make(row, "div", "nl-coder-scale") : null;
      const points = scale ? steps(code).map((value) => {
        const point = make(scale, "button", "nl-coder-point nl-number", String(value));
        point.type = "button";
        point.setAttribute("aria-label", `${code.name}: ${value}`);
        point.addEventListener("click", () => { marks[code.name] = value; draw(); });
        return { point, value };
      }) : [];
      return { code, row, button, shown, points };
    });
    const save = make(foot, "button", "nl-coder-save", "Keep and continue (Enter)");
    const undo = make(foot, "button", "nl-coder-undo", "Undo (Backspace)");
    for (const button of [save, undo]) button.type = "button";

    const draw = () => {
      for (const { code, row, button, shown, points } of rows) {
        const value = marks[code.name];
        row.classList.toggle("nl-marked", value !== undefined);
        button.setAttribute("aria-pressed", String(value !== undefined));
        shown.textContent = value === undefined ? "" : isScale(code) ? value : "yes";
        for (const one of points) one.point.setAttribute("aria-pressed", String(one.value === value));
      }
    };
    const show = () => {
      const unit = model.get("unit"), done = unit.of - unit.left, over = !unit.left;
      // An undone answer is shown as it was marked; a no is not a mark.
      marks = Object.fromEntries(rows.filter(({ code }) => isScale(code) || unit.marks?.[code.name])
        .map(({ code }) => [code.name, unit.marks?.[code.name]]));
      bar.max = unit.of;
      bar.value = done;
      count.textContent = over ? `All ${unit.of} are coded. Thank you.` : `${done + 1} of ${unit.of}`;
      before.replaceChildren(...(unit.before || []).map((line) => {
        const item = document.createElement("li");
        item.textContent = line;
        return item;
      }));
      before.hidden = !unit.before?.length;
      text.textContent = unit.text ?? "";
      text.hidden = choices.hidden = over;
      save.disabled = over;
      undo.disabled = !done;
      draw();
      if (before.hidden && document.activeElement === before) save.focus();
      // Keep the line just before the text in view; the first time, this works only once the page is laid out.
      requestAnimationFrame(() => { before.scrollTop = before.scrollHeight; });
      choices.scrollTop = 0;
    };
    const keep = () => {
      if (!save.disabled) model.send({ id: model.get("unit").id, marks });
    };
    const takeBack = () => {
      if (!undo.disabled) model.send({ undo: true });
    };
    save.addEventListener("click", keep);
    undo.addEventListener("click", takeBack);

    // Keys work wherever the focus is on this page, but not during typing elsewhere.
    const onKey = (event) => {
      const target = event.target, page = el.closest(".nl-page") ?? el;
      const ours = page.contains(target) || (target === document.body && "voila" in target.dataset);
      if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.repeat || !ours) return;
      if (target.closest("input, textarea, select, [contenteditable=true]")) return;
      const row = rows[KEYS.indexOf(event.key.toLowerCase())];
      if (event.key === "Enter" && target !== undo) keep();
      else if (event.key === "Enter" || event.key === "Backspace") takeBack();
      else if (event.key.length === 1 && row && !choices.hidden) {
        press(row.code);
        row.row.scrollIntoView({ block: "nearest" });
      } else return;
      event.preventDefault();
      event.stopPropagation();
    };
    document.addEventListener("keydown", onKey, true);
    model.on("change:unit", show);
    show();
    return () => {
      document.removeEventListener("keydown", onKey, true);
      model.off("change:unit", show);
    };
  },
};
