// Maximum bytes of a press; somewhat beyond that, the server would close the connection.
const MOST_BYTES = 100_000;
const MOST_CHARACTERS = 30_000;

export default {
  render({ model, el }) {
    const soon = (frames, done) => {
      if (!done() && frames > 0) requestAnimationFrame(() => soon(frames - 1, done));
    };
    const shield = (page) => {
      // The mark works only on the focused element itself, not on its container.
      page.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
      // A click on plain text keeps the focus on the page, and after pressing a button that is now gone, it moves to
      // the title.
      page.tabIndex = -1;
      // If pages are nested, the outermost one sends presses.
      if (page.parentElement.closest(".nl-page")) {
        take(page);
        return;
      }
      page.addEventListener("input", stopTooLong, true);
      page.addEventListener("change", stopTooLong, true);
      page.addEventListener("click", ask, true);
      page.addEventListener("click", catchPress, true);
    };

    // A text so long that the server would close the connection is not sent, and its field says so.
    const checkLength = (field, most) => {
      if (typeof field.value !== "string" || !field.setCustomValidity || field.type === "number") return false;
      const length = field.value.length;
      const numbers = { length, most };
      field.setCustomValidity(length <= most ? ""
        : model.get("too_long").replace(/{(length|most)}/g, (_, name) => numbers[name].toLocaleString("en")));
      if (length > most) field.reportValidity();
      return length > most;
    };
    const stopTooLong = (event) => {
      if (checkLength(event.target, MOST_CHARACTERS)) event.stopImmediatePropagation();
    };

    // The pressed element is removed a moment later, which leaves the focus nowhere. The next press settles its own
    // focus.
    const take = (page) => {
      let isOver = false;
      const end = () => { isOver = true; };
      ["pointerdown", "keydown"].forEach((kind) => document.addEventListener(kind, end, { once: true, capture: true }));
      soon(120, () => {
        const found = [...page.querySelectorAll("h1")].find((title) => title.offsetParent);
        if (isOver) return true;
        if (document.activeElement !== document.body || !found) return false;
        found.tabIndex = -1;
        found.focus({ preventScroll: page.closest(".nl-from-top") !== null });
        return true;
      });
    };
    const reveal = (page, selector) => soon(600, () => {
      const part = page.querySelector(selector);
      if (!part || !part.offsetParent) return false;
      part.scrollIntoView({ block: "nearest" });
      return true;
    });
    // A question that was opened is scrolled into view, with the focus on the answer that changes nothing.
    const ask = ({ target }) => {
      const asking = target.closest(".nl-leaving"), question = asking && asking.querySelector(".nl-panel");
      if (!question || !target.closest("button")) return;
      const wasOpen = question.offsetParent !== null;
      soon(600, () => {
        const isOpen = question.offsetParent !== null;
        if (isOpen === wasOpen) return false;
        if (isOpen) {
          [...question.querySelectorAll("button")].at(-1).focus({ preventScroll: true });
          if (!asking.closest(".nl-decision")) question.scrollIntoView({ block: "center" });
        } else if (question.contains(document.activeElement) || document.activeElement === document.body) {
          asking.querySelector("button")?.focus({ preventScroll: true });
        }
        return true;
      });
    };

    // A press carries what the page shows at that moment, in one message. With ipywidgets' own mechanism, the press
    // would overtake what was typed, because a field's last change is held back while the kernel is busy with the
    // previous one.
    const catchPress = (event) => {
      const button = event.target.closest("button.widget-button");
      const page = event.currentTarget;
      if (!button || !model.get("root")) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      const faulty = !button.closest(".nl-leaving")
        && [...page.querySelectorAll("textarea, input")].find((each) => each.offsetParent && each.validity.customError);
      if (faulty) faulty.reportValidity();
      else send(page, button);
    };
    // Every promise here is already settled, so that all of this happens before the page's next event.
    const send = async (page, button) => {
      const found = [];
      await collect(await model.widget_manager.get_model(model.get("root").replace("IPY_MODEL_", "")), page, found);
      const pressed = found.find(({ el }) => el === button);
      if (!pressed) return;
      const fields = Object.fromEntries(
        found.map(({ one, el }) => [one.model_id, shown(one, el)]).filter(([, value]) => value !== undefined));
      const size = new Blob([JSON.stringify(fields)]).size;
      if (size > MOST_BYTES) {
        const boxes = [...page.querySelectorAll("textarea, input")].filter((each) => each.offsetParent);
        const longest = boxes.reduce((a, b) => (a.value.length < b.value.length ? b : a));
        checkLength(longest, Math.floor((longest.value.length * MOST_BYTES) / size) - 1);
      } else model.send({ press: pressed.one.model_id, fields });
    };
    const collect = async (one, page, found) => {
      // Nobody sees a view that is still being made.
      const views = await Promise.all(Object.values(one.views ?? {}).map((view) => Promise.race([view, null])));
      const view = views.find((each) => each && page.contains(each.el));
      if (view) found.push({ one, el: view.el });
      for (const child of one.get("children") ?? []) await collect(child, page, found);
    };
    // What a field shows: our own fields report it; for others, it is the text as typed or, for a list, the selected
    // labels.
    const shown = (one, el) => {
      if (el.nlRead) return el.nlRead();
      if (one.has("turn") && one.has("root")) return one.get("turn");
      if (!one.has("disabled") || /^(HTML|Label)/.test(one.get("_model_name"))) return undefined;
      const labels = one.get("_options_labels"), index = one.get("index"), value = one.get("value");
      if (labels) return Array.isArray(index) ? index.map((at) => labels[at]) : labels[index] ?? null;
      const box = el.querySelector("textarea, input:not([type=checkbox]):not([type=radio]):not([type=range])");
      if (box && typeof value === "string") return box.value;
      return box && typeof value === "number" && box.value.trim() && !isNaN(box.value) ? Number(box.value) : value;
    };

    model.on("msg:custom", (said) => {
      const page = el.closest(".nl-page");
      if (said.reveal) reveal(page, said.reveal);
      else {
        page.scrollIntoView({ block: "start" });
        take(page);
      }
    });
    soon(120, () => {
      const page = el.closest(".nl-page");
      if (page) shield(page);
      return page !== null;
    });
  },
};
