"use strict";
/* What the pages of analysts and stewards share: a call with the key, tables of figures, faults in words. */
const Asking = (function () {
  const SVG = "http://www.w3.org/2000/svg";
  const keyField = document.getElementById("key");
  keyField.form.addEventListener("submit", (event) => event.preventDefault());

  function make(tag, text, className) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }
  function draw(tag, attributes, text) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }
  const number = (value) => (value === null || value === undefined ? "–" : Number(value.toPrecision(5)).toLocaleString("en", { maximumSignificantDigits: 5 }));
  const amount = (price) => "epsilon " + number(price.epsilon) + (price.delta > 0 ? ", delta " + price.delta.toPrecision(3) : "");
  const interval = (figure) => (figure && figure.estimate !== null ? number(figure.low) + " to " + number(figure.high) : "–");

  async function call(method, path, body) {
    const headers = {};
    if (keyField.value.trim()) headers.Authorization = "Bearer " + keyField.value.trim();
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let reply, said;
    try {
      reply = await fetch(path, { method, headers, credentials: "same-origin", body: body === undefined ? undefined : JSON.stringify(body) });
      said = await reply.json();
    } catch {
      return { problem: { title: "No answer", detail: "The server did not answer; try again in a moment." } };
    }
    if (reply.status === 401) keyField.focus();
    return reply.ok ? { said } : { problem: said };
  }

  function fault(box, problem) {
    const node = make("div", undefined, "fault");
    node.append(make("strong", problem.title), make("p", problem.detail));
    if (problem.request_id) node.append(make("span", "Request " + problem.request_id, "hint"));
    box.replaceChildren(node);
  }

  function table(header, rows, caption) {
    const region = make("div", undefined, header.length > 4 ? "scroll wide" : "scroll");
    region.tabIndex = 0;
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", caption);
    const body = make("tbody");
    for (const row of rows) {
      const line = make("tr");
      row.forEach((cell, place) => {
        const node = make(place === 0 ? "th" : "td", cell);
        if (place === 0) node.scope = "row";
        line.append(node);
      });
      body.append(line);
    }
    const head = make("thead"), names = make("tr"), whole = make("table");
    for (const name of header) {
      const node = make("th", name);
      node.scope = "col";
      names.append(node);
    }
    head.append(names);
    whole.append(make("caption", caption), head, body);
    region.append(whole);
    return region;
  }

  const order = (name) => {
    const [what, whom] = name.split(" | ");
    return what + "|" + (whom || "").split(", ").sort().join(",");
  };
  function beside(figures, others) {
    const known = new Map((others || []).map((figure) => [order(figure.name), figure]));
    return figures.map((figure) => [figure, known.get(order(figure.name))]);
  }

  /* Two intervals on one scale for each figure: the answer, and below it what the release had said. */
  function picture(pairs, width) {
    const isDrawn = (figure) => figure && [figure.low, figure.high, figure.estimate].every(Number.isFinite);
    const shown = pairs.filter(([figure]) => isDrawn(figure)).slice(0, 40);
    const values = shown.flat().filter(isDrawn).flatMap((figure) => [figure.low, figure.high, figure.estimate]);
    if (!values.length) return null;
    const least = Math.min(...values), most = Math.max(...values), span = most - least || 1;
    const x = (value) => 8 + ((width - 16) * (value - least)) / span;
    const svg = draw("svg", { class: "scale pairs", viewBox: "0 0 " + width + " " + (48 + 46 * shown.length), width, height: 48 + 46 * shown.length, role: "img", "aria-label": "Intervals of the answer, and below each that of the release; the table has the numbers" });
    shown.forEach(([figure, other], place) => {
      const y = 8 + 46 * place;
      svg.append(draw("text", { x: 8, y: y + 8 }, figure.name));
      [[figure, "mark", y + 20], [other, "noise", y + 32]].forEach(([one, kind, at]) => {
        if (!isDrawn(one)) return;
        svg.append(
          draw("rect", { class: kind, x: x(one.low), y: at - 1.5, width: Math.max(2, x(one.high) - x(one.low)), height: 3 }),
          draw("circle", { class: kind, cx: x(one.estimate), cy: at, r: 5 })
        );
      });
    });
    [["mark", "answer", 8], ["noise", "release", 108]].forEach(([kind, name, left]) => {
      svg.append(draw("circle", { class: kind, cx: left + 5, cy: 38 + 46 * shown.length, r: 5 }), draw("text", { x: left + 16, y: 42 + 46 * shown.length }, name));
    });
    svg.append(draw("text", { x: 8, y: 20 + 46 * shown.length }, number(least)), draw("text", { x: width - 8, y: 20 + 46 * shown.length, "text-anchor": "end" }, number(most)));
    return svg;
  }
  /* The promise is long; it is there for whoever opens it. */
  function promise(text) {
    const box = make("details");
    box.append(make("summary", "The promise"), make("p", text));
    return box;
  }
  const words = (figures) => [...new Set(figures.flatMap((figure) => [figure.refused, ...(figure.warnings || [])]).filter(Boolean))];
  return { make, draw, number, amount, interval, call, fault, table, beside, picture, promise, words };
})();
