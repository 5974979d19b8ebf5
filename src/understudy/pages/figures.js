"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const config = { responsive: true, displayModeBar: false, plotlyServerURL: "" };
  const plots = [];
  function draw(place) {
    const figure = figures[place.id];
    return Plotly.newPlot(place, figure.data, figure.layout, config).then(function () {
      place.dataset.drawn = "true";
      plots.push(place);
      // the words beside the figure say it; its hundreds of parts would only be in the way of a screen reader
      place.querySelectorAll("svg").forEach(function (part) { part.setAttribute("aria-hidden", "true"); });
    });
  }
  // one figure per turn: the page can be read and scrolled while the rest is drawn
  let queue = Promise.resolve();
  document.querySelectorAll(".plot").forEach(function (place) {
    queue = queue.then(function () { return draw(place); }).then(function () {
      return new Promise(function (next) { setTimeout(next, 0); });
    });
  });
  queue.then(function () { document.documentElement.dataset.ready = "true"; });
  const button = document.getElementById("tables");
  button.hidden = false;
  button.addEventListener("click", function () {
    const open = button.getAttribute("aria-pressed") !== "true";
    document.querySelectorAll("details").forEach(function (part) { part.open = open; });
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? "Close all tables" : "Open all tables";
  });
  // paper is narrower than the window, and the figures must be told before the printer looks
  // low enough that six columns, or two wide figures, share a page
  window.addEventListener("beforeprint", function () {
    plots.forEach(function (place) {
      const wide = place.closest("figure").classList.contains("wide");
      const high = figures[place.id].layout.height;
      const most = wide ? 370 : high > 400 ? 340 : 230;
      Plotly.relayout(place, { width: wide ? 690 : 335, height: Math.min(high, most), autosize: false });
    });
  });
  window.addEventListener("afterprint", function () {
    plots.forEach(function (place) {
      Plotly.relayout(place, { width: null, height: figures[place.id].layout.height, autosize: true });
    });
  });
})();
