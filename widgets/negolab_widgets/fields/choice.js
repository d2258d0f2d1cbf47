export default {
  render({ model, el }) {
    const box = make(el, "div", "widget-dropdown");
    const label = make(box, "label", "widget-label", model.get("description"));
    const list = make(box, "select"), about = make(box, "div", "nl-about nl-soft");
    label.htmlFor = list.id = newId();
    about.id = `${list.id}-about`;
    list.setAttribute("aria-describedby", about.id);
    let chosen = "";
    const show = (value) => { list.value = chosen = value; };
    const groups = () => {
      list.replaceChildren();
      for (const [key, words, group] of model.get("options")) {
        let inside = group ? list.lastElementChild : list;
        if (group && inside?.label !== group) {
          inside = make(list, "optgroup");
          inside.label = group;
        }
        make(inside, "option", "", words).value = key;
      }
      show(chosen);
    };
    const describe = () => { about.textContent = model.get("about"); };
    list.addEventListener("change", () => {
      chosen = list.value;
      field.tell();
    });
    model.on("change:options", groups);
    model.on("change:about", describe);
    groups();
    describe();
    const field = bind(model, el, () => chosen, show);
    return () => {
      field.stop();
      model.off("change:options", groups);
      model.off("change:about", describe);
    };
  },
};
