const QUARTER = 25;
const cents = (text) => {
  const found = /^\s*\$?\s*(\d{1,9})(?:\.(\d{1,2}))?\s*$/.exec(text);
  return found && Number(found[1]) * 100 + Number((found[2] ?? "").padEnd(2, "0"));
};
export default {
  render({ model, el }) {
    const put = (price) => {
      input.value = (Math.min(model.get("max"), Math.max(model.get("min"), price)) / 100).toFixed(2);
      follow();
      field.tell();
    };
    const step = (by) => put((cents(input.value) ?? model.get("base")) + by);
    const all = model.get("steps");
    const line = make(el, "div", "nl-price-line");
    const less = stepButtons(line, all.filter(([, by]) => by < 0), step);
    const box = make(line, "div", "widget-text");
    const more = stepButtons(line, all.filter(([, by]) => by > 0), step);
    const label = make(box, "label", "widget-label", model.get("description"));
    const input = make(box, "input");
    label.htmlFor = input.id = newId();
    input.type = "text";
    input.inputMode = "decimal";
    input.autocomplete = "off";
    input.placeholder = model.get("placeholder");
    input.addEventListener("input", () => { follow(); field.tell(); });
    const marked = make(el, "div", "nl-zone-marks");
    const track = make(el, "div", "nl-zone");
    const slider = make(track, "input");
    slider.type = "range";
    slider.setAttribute("aria-label", model.get("slider"));
    slider.addEventListener("input", () => put(Number(slider.value)));
    const ends = make(el, "div", "nl-zone-ends");
    // The slider follows the field; without a price, it shows none.
    const follow = () => {
      const price = cents(input.value);
      slider.value = price ?? model.get("base");
      slider.setAttribute("aria-valuetext", price === null ? "" : `$${(price / 100).toFixed(2)}`);
      track.classList.toggle("nl-unset", price === null);
    };
    const draw = () => {
      const [low, high, words, marks] = model.get("zone");
      for (const part of [input, slider, ...less, ...more]) part.disabled = model.get("disabled");
      Object.assign(slider, { min: low, max: high, step: (high - low) % QUARTER ? 1 : QUARTER });
      track.querySelectorAll("i").forEach((mark) => mark.remove());
      marked.replaceChildren();
      ends.replaceChildren();
      for (const text of words) make(ends, "span", "", text);
      for (const [price, text, seat] of marks) {
        make(marked, "span", `nl-person nl-person-${seat}`, text);
        const mark = make(track, "i", `nl-zone-mark nl-person-${seat}`);
        mark.style.setProperty("--at", Math.min(1, Math.max(0, (price - low) / (high - low))));
      }
      follow();
    };
    model.on("change:disabled change:zone change:base", draw);
    const show = (text) => { if (input.value !== text) input.value = text; follow(); };
    const field = bind(model, el, () => input.value, show);
    draw();
    return () => {
      field.stop();
      model.off("change:disabled change:zone change:base", draw);
    };
  },
};
