// Unpack plotly, and draw the page's figures in the colours of its light or dark version.
(async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent), (one) => one.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
  const plots = [...document.querySelectorAll(".plot")];
  const texts = plots.map((plot) => [...plot.children].map((one) => one.textContent));
  const phone = matchMedia("(max-width: 44rem)");
  plots.forEach((plot) => plot.replaceChildren());
  const soft = document.createElement("span");
  soft.className = "soft";
  document.body.append(soft);
  // The ink of figures on pages, and of those made for paper, whose white ground goes.
  const read = (text) => {
    const inks = { "#6c7884": getComputedStyle(soft).color, "#22272c": getComputedStyle(document.body).color };
    const white = (key, value) => key.endsWith("bgcolor") && value === "#ffffff";
    return JSON.parse(text, (key, value) => (white(key, value) ? "rgba(0, 0, 0, 0)" : (inks[value] ?? value)));
  };
  const config = { displayModeBar: false, responsive: true, typesetMath: false };
  const draw = () => plots.forEach((plot, at) => {
    const { data, layout } = read(texts[at][phone.matches && texts[at].length > 1 ? 1 : 0]);
    plot.style.height = `${layout.height || 450}px`;
    delete layout.width;
    window.Plotly.react(plot, data, { ...layout, autosize: true }, config);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  phone.addEventListener("change", draw);
  addEventListener("beforeprint", draw);
  addEventListener("afterprint", draw);
  draw();
})();
