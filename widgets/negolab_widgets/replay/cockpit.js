// The bar, the moment, the drawings and the moves; everything that belongs to a step has data-step and follows the
// current one.
const PLAY_MS = 900;
const icon = (path) => `<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${path}"/></svg>`;
const ICONS = {
  first: icon("M3 3h2v10H3zM13 3v10L6 8z"),
  back: icon("M12 3v10L5 8z"),
  play: icon("M4 3v10l9-5z"),
  pause: icon("M4 3h3v10H4zM9 3h3v10H9z"),
  next: icon("M4 3v10l7-5z"),
  last: icon("M11 3h2v10h-2zM3 3v10l7-5z"),
};
const FRAME = `<div class="nl-cockpit-grid">
  <div class="nl-steps" role="group" aria-label="Steps of the match">
    <button type="button" data-go="first" aria-label="First" title="First step (Home)">${ICONS.first}</button>
    <button type="button" data-go="back" aria-label="Back" title="One step back (left arrow)">${ICONS.back}</button>
    <button type="button" data-go="play" aria-label="Play" title="Play or pause (space)">${ICONS.play}</button>
    <button type="button" data-go="next" aria-label="Next" title="One step on (right arrow)">${ICONS.next}</button>
    <button type="button" data-go="last" aria-label="Last" title="Last step (End)">${ICONS.last}</button>
    <input type="range" min="1" aria-label="Step">
    <span class="nl-number nl-steps-count"></span>
  </div>
  <div class="nl-moment"></div>
  <div class="nl-drawings">
    <div class="nl-plane-place"></div><div class="nl-readout"></div><div class="nl-strip-place"></div>
  </div>
  <div class="nl-moves"></div>
</div>`;

export default {
  render({ model, el }) {
    el.classList.add("nl-cockpit");
    el.innerHTML = FRAME;
    const part = (selector) => el.querySelector(selector);
    const slider = part("input"), play = part("[data-go=play]");
    let timer = null;

    const put = (place, trait) => { part(place).innerHTML = model.get(trait); };
    const drawMatch = () => {
      put(".nl-plane-place", "plane");
      put(".nl-strip-place", "strip");
      put(".nl-moves", "moves");
      el.classList.toggle("nl-without-plane", !model.get("plane"));
      slider.max = model.get("count");
      follow();
    };
    const drawMoment = () => {
      const opened = [...el.querySelectorAll(".nl-moment details[open] > summary")].map((one) => one.textContent);
      put(".nl-moment", "moment");
      for (const one of el.querySelectorAll(".nl-moment details"))
        one.open = opened.includes(one.querySelector("summary").textContent);
    };
    const words = (step) => part(`.nl-moves [data-step="${step}"] .nl-move-text`)?.textContent ?? "";

    // The current step.
    const follow = () => {
      const step = model.get("step"), count = model.get("count");
      for (const one of el.querySelectorAll("[data-step]")) {
        const own = Number(one.dataset.step);
        one.classList.toggle("nl-later", own > step);
        one.classList.toggle("nl-current", own === step);
      }
      for (const drawing of el.querySelectorAll("[data-places]")) {
        const reached = JSON.parse(drawing.dataset.places).filter(([from]) => from <= step).at(-1);
        const now = drawing.querySelector(".nl-now");
        if (reached && now) now.setAttribute("transform", `translate(${reached[1] + 50} ${(reached[2] ?? -50) + 50})`);
      }
      // Of proposals at the same position, only the current one shows its number.
      const place = part(".nl-plane .nl-point.nl-current")?.getAttribute("transform");
      for (const one of el.querySelectorAll(".nl-plane .nl-point"))
        one.classList.toggle("nl-under", one.getAttribute("transform") === place && Number(one.dataset.step) !== step);
      slider.value = step;
      slider.setAttribute("aria-valuetext", `step ${step} of ${count}: ${words(step)}`);
      part(".nl-steps-count").textContent = `${step} of ${count}`;
      part("[data-go=first]").disabled = part("[data-go=back]").disabled = step <= 1;
      part("[data-go=last]").disabled = part("[data-go=next]").disabled = step >= count;
      followInList(step);
      link(null);
    };
    const followInList = (step) => {
      const list = part(".nl-moves"), inList = list.contains(document.activeElement);
      for (const one of list.querySelectorAll("button")) {
        const current = Number(one.dataset.step) === step;
        one.tabIndex = current ? 0 : -1;
        if (!current) one.removeAttribute("aria-current");
        else {
          one.setAttribute("aria-current", "step");
          if (inList) one.focus({ preventScroll: true });
          const above = one.offsetTop - list.scrollTop, below = above + one.offsetHeight - list.clientHeight;
          if (above < 0) list.scrollTop += above - 8;
          else if (below > 0) list.scrollTop += below + 8;
        }
      }
    };
    const go = (step) => {
      const wanted = Math.max(1, Math.min(step, model.get("count")));
      if (wanted === model.get("step")) return;
      model.set("step", wanted);
      model.save_changes();
      follow();
    };

    // Playing.
    const pause = () => {
      clearInterval(timer);
      timer = null;
      play.innerHTML = ICONS.play;
      play.setAttribute("aria-label", "Play");
    };
    const start = () => {
      if (model.get("step") >= model.get("count")) go(1);
      timer = setInterval(() => {
        go(model.get("step") + 1);
        if (model.get("step") >= model.get("count")) pause();
      }, PLAY_MS);
      play.innerHTML = ICONS.pause;
      play.setAttribute("aria-label", "Pause");
    };
    const turn = {
      first: () => go(1),
      back: () => go(model.get("step") - 1),
      next: () => go(model.get("step") + 1),
      last: () => go(model.get("count")),
    };
    const act = (name) => {
      if (name === "play") timer ? pause() : start();
      else { pause(); turn[name](); }
    };

    // Related elements are marked while the pointer is over one of them.
    const link = (step) => {
      for (const one of el.querySelectorAll(".nl-linked")) one.classList.remove("nl-linked");
      if (step) for (const one of el.querySelectorAll(`[data-step="${step}"]`)) one.classList.add("nl-linked");
      const shown = step ?? model.get("step");
      part(".nl-readout").textContent = `${step ? "under the pointer: " : "now: "}${shown}. ${words(shown)}`;
    };
    const stepOf = (event) => event.target.closest?.("[data-step]")?.dataset.step;
    el.addEventListener("mouseover", (event) => { if (stepOf(event)) link(stepOf(event)); });
    el.addEventListener("mouseout", (event) => { if (stepOf(event)) link(null); });
    el.addEventListener("focusin", (event) => { if (stepOf(event)) link(stepOf(event)); });
    el.addEventListener("focusout", () => link(null));
    el.addEventListener("click", (event) => {
      const button = event.target.closest("[data-go]");
      if (button) act(button.dataset.go);
      else if (stepOf(event)) { pause(); go(Number(stepOf(event))); }
    });
    slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });

    // Keys work wherever the focus is on this page, but not during typing or while scrolling a table.
    const KEYS = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play" };
    const UP_AND_DOWN = { ArrowUp: "back", ArrowDown: "next" };
    const isOurs = (target) => {
      const page = el.closest(".nl-page");
      if (page?.contains(target)) return true;
      return target === document.body && ("voila" in target.dataset || "replay" in target.dataset);
    };
    const press = (event) => {
      const target = event.target;
      if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || !isOurs(target)) return;
      const near = part(".nl-steps").contains(target) || part(".nl-moves").contains(target);
      const name = KEYS[event.key] ?? (near ? UP_AND_DOWN[event.key] : undefined);
      const typing = target !== slider && target.closest("input, textarea, select, [contenteditable=true]");
      const scrolling = !near && target.closest("[tabindex='0']");
      if (!name || typing || scrolling) return;
      if (event.key === " " && target.closest("button, summary, a")) return;
      event.preventDefault();
      act(name);
    };
    document.addEventListener("keydown", press);

    // A new match changes all of these together.
    const drawings = "change:plane change:strip change:moves change:count";
    let drawing = false;
    const drawSoon = () => {
      if (drawing) return;
      drawing = true;
      queueMicrotask(() => { drawing = false; drawMatch(); });
    };
    model.on(drawings, drawSoon);
    model.on("change:moment", drawMoment);
    model.on("change:step", follow);
    drawMatch();
    drawMoment();
    return () => {
      pause();
      document.removeEventListener("keydown", press);
      model.off(drawings, drawSoon);
      model.off("change:moment", drawMoment);
      model.off("change:step", follow);
    };
  },
};
