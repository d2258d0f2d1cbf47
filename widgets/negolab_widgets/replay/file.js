// One file: a list of matches, the cockpit above one match's drawings, and what the seats saw at the current step.
const packed = atob(document.getElementById("matches").textContent);
const stream = new Blob([Uint8Array.from(packed, (sign) => sign.charCodeAt(0))]).stream();
const unpacked = new Response(stream.pipeThrough(new DecompressionStream("gzip")));
const { matches, parts } = await unpacked.json();
const whole = (places) => places.map((at) => parts[at]).join("");
const place = (name) => document.querySelector(`.nl-${name}`);
const choice = document.getElementById("match");
choice.append(...matches.map(({ name }) => new Option(name)));
place("choose").style.display = matches.length < 2 ? "none" : "";
let leave = () => {};

const show = () => {
  const match = matches[choice.selectedIndex];
  const state = { ...match, step: 1 };
  const heard = {};
  const follow = () => {
    state.moment = whole(match.moments[state.step - 1]);
    place("seats-place").innerHTML = whole(match.seats[state.step - 1]);
    heard["change:moment"]?.();
  };
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: follow,
    on: (name, act) => { heard[name] = act; },
    off: (name) => { delete heard[name]; },
  };
  leave();
  follow();
  place("head-place").innerHTML = match.head;
  const cockpitPlace = document.createElement("div");
  place("cockpit-place").replaceChildren(cockpitPlace);
  leave = cockpit.render({ model, el: cockpitPlace });
  for (const button of document.querySelectorAll("[data-turn]"))
    button.disabled = !matches[choice.selectedIndex + Number(button.dataset.turn)];
};
choice.addEventListener("change", show);
for (const button of document.querySelectorAll("[data-turn]"))
  button.addEventListener("click", () => { choice.selectedIndex += Number(button.dataset.turn); show(); });
const follow = () => {
  const named = matches.findIndex(({ id }) => id && id === decodeURIComponent(location.hash.slice(1)));
  choice.selectedIndex = Math.max(named, 0);
  show();
};
addEventListener("hashchange", follow);
follow();
