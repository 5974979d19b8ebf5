"use strict";
(function () {
  const raw = JSON.parse(document.getElementById("data").textContent);
  const bytes = (text) => { const s = atob(text); const b = new Uint8Array(s.length); for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i); return b.buffer; };
  const names = raw.names, number = names.length;
  const lat = new Float64Array(bytes(raw.latitudes)), lon = new Float64Array(bytes(raw.longitudes));
  const roles = new Uint8Array(bytes(raw.roles)); // 1 home, 2 workplace, 3 both
  const xs = new Float64Array(number), ys = new Float64Array(number);
  for (let i = 0; i < number; i++) {
    xs[i] = (lon[i] + 180) / 360;
    const s = Math.sin(Math.max(-85, Math.min(85, lat[i])) * Math.PI / 180);
    ys[i] = 0.5 - Math.log((1 + s) / (1 - s)) / (4 * Math.PI);
  }
  const EARTH = 3958.7613, rad = Math.PI / 180;
  const miles = (a, b) => {
    const h = Math.sin((lat[b] - lat[a]) * rad / 2) ** 2 + Math.cos(lat[a] * rad) * Math.cos(lat[b] * rad) * Math.sin((lon[b] - lon[a]) * rad / 2) ** 2;
    return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)));
  };
  // flows sorted by destination; the other direction is sorted here, by counting
  function flowsOf(set) {
    const homes = new Uint32Array(bytes(set.origins)), work = new Uint32Array(bytes(set.destinations)), counts = new Uint32Array(bytes(set.counts));
    const index = (keys) => {
      const starts = new Uint32Array(number + 1);
      for (const key of keys) starts[key + 1]++;
      for (let i = 0; i < number; i++) starts[i + 1] += starts[i];
      const at = starts.slice(), order = new Uint32Array(keys.length);
      for (let i = 0; i < keys.length; i++) order[at[keys[i]]++] = i;
      return { starts, order };
    };
    const to = index(work), from = index(homes);
    return {
      of(place, direction) {
        const side = direction === "to" ? to : from, other = direction === "to" ? homes : work, found = [];
        for (let i = side.starts[place]; i < side.starts[place + 1]; i++) { const f = side.order[i]; found.push({ place: other[f], count: counts[f] }); }
        return found.sort((a, b) => b.count - a.count || a.place - b.place);
      },
      total: counts.reduce((a, b) => a + b, 0),
    };
  }
  const sets = { synthetic: flowsOf(raw.synthetic) };
  if (raw.original) sets.original = flowsOf(raw.original);
  const state = { place: -1, direction: "to", mode: "synthetic" };
  const view = { x: 0.5, y: 0.5, scale: 1 };
  const panels = [...document.querySelectorAll("#maps figure")].map((figure) => ({ name: figure.id.slice(4), figure, canvas: figure.querySelector("canvas") }));
  const colours = { synthetic: "#c8571b", original: "#0072b2" };
  const shown = () => state.mode === "beside" ? ["synthetic", "original"] : [state.mode];

  function fit(indices) {
    let a = Infinity, b = -Infinity, c = Infinity, d = -Infinity;
    for (const i of indices) { a = Math.min(a, xs[i]); b = Math.max(b, xs[i]); c = Math.min(c, ys[i]); d = Math.max(d, ys[i]); }
    const box = panels.find((p) => !p.figure.hidden).canvas.getBoundingClientRect();
    view.x = (a + b) / 2; view.y = (c + d) / 2;
    view.scale = 0.92 * Math.min(box.width / Math.max(b - a, 1e-6), box.height / Math.max(d - c, 1e-6));
  }
  const tiles = new Map();
  function drawTiles(ctx, width, height) {
    if (!raw.tiles) return;
    const zoom = Math.max(0, Math.min(19, Math.round(Math.log2(view.scale / 256)))), n = 2 ** zoom, size = view.scale / n;
    const left = Math.floor((view.x - width / 2 / view.scale) * n), right = Math.floor((view.x + width / 2 / view.scale) * n);
    const top = Math.floor((view.y - height / 2 / view.scale) * n), bottom = Math.floor((view.y + height / 2 / view.scale) * n);
    ctx.globalAlpha = 0.6;
    for (let x = left; x <= right; x++) for (let y = Math.max(0, top); y <= Math.min(n - 1, bottom); y++) {
      const url = raw.tiles.replace("{z}", zoom).replace("{x}", ((x % n) + n) % n).replace("{y}", y);
      if (!tiles.has(url)) { const image = new Image(); image.onload = () => draw(); image.src = url; tiles.set(url, image); }
      const image = tiles.get(url);
      if (image.complete && image.naturalWidth) ctx.drawImage(image, (x / n - view.x) * view.scale + width / 2, (y / n - view.y) * view.scale + height / 2, size + 1, size + 1);
    }
    ctx.globalAlpha = 1;
  }
  let pending = false;
  function draw() { if (!pending) { pending = true; requestAnimationFrame(() => { pending = false; for (const panel of panels) if (!panel.figure.hidden) paint(panel); }); } }
  function paint(panel) {
    const canvas = panel.canvas, box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    const width = Math.round(box.width), height = Math.round(box.height);
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) { canvas.width = width * ratio; canvas.height = height * ratio; }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = "#fbfbfa"; ctx.fillRect(0, 0, width, height);
    drawTiles(ctx, width, height);
    const dot = view.scale > 2e6 ? 3 : 1.6;
    for (let i = 0; i < number; i++) {
      const x = (xs[i] - view.x) * view.scale + width / 2, y = (ys[i] - view.y) * view.scale + height / 2;
      if (x < -3 || y < -3 || x > width + 3 || y > height + 3) continue;
      ctx.fillStyle = roles[i] & 2 ? "#8d949b" : "#c4c9cd";
      ctx.fillRect(x - dot / 2, y - dot / 2, dot, dot);
    }
    if (state.place < 0) return;
    const flows = sets[panel.name].of(state.place, state.direction);
    const cx = (xs[state.place] - view.x) * view.scale + width / 2, cy = (ys[state.place] - view.y) * view.scale + height / 2;
    ctx.strokeStyle = colours[panel.name]; ctx.fillStyle = colours[panel.name];
    ctx.globalAlpha = Math.max(0.05, Math.min(0.35, 30 / (flows.length + 1))); ctx.lineWidth = 1; ctx.beginPath();
    const spots = flows.map((f) => [(xs[f.place] - view.x) * view.scale + width / 2, (ys[f.place] - view.y) * view.scale + height / 2, Math.min(30, 2.2 + 1.9 * Math.sqrt(f.count))]);
    for (const [x, y] of spots) { ctx.moveTo(cx, cy); ctx.lineTo(x, y); }
    ctx.stroke();
    ctx.globalAlpha = 0.7;
    for (const [x, y, r] of spots) { ctx.beginPath(); ctx.arc(x, y, r, 0, 2 * Math.PI); ctx.fill(); }
    ctx.globalAlpha = 1; ctx.fillStyle = "#111"; ctx.strokeStyle = "#fff"; ctx.lineWidth = 2;
    ctx.beginPath(); ctx.arc(cx, cy, 6, 0, 2 * Math.PI); ctx.fill(); ctx.stroke();
  }
  const element = (tag, text, cls) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
  const label = { synthetic: "synthetic", original: "original, confidential" };
  function tell() {
    document.getElementById("chosen").textContent = state.place < 0 ? "No place chosen" : names[state.place];
    const tables = document.getElementById("tables"), summary = document.getElementById("summary");
    tables.replaceChildren(); summary.textContent = "";
    const bars = [];
    if (state.place >= 0) {
      const words = [];
      for (const name of shown()) {
        const flows = sets[name].of(state.place, state.direction);
        const people = flows.reduce((a, f) => a + f.count, 0), way = flows.reduce((a, f) => a + f.count * miles(state.place, f.place), 0);
        words.push(`${people.toLocaleString("en")} ${label[name]} workers ${state.direction === "to" ? "come from" : "go to"} ${flows.length.toLocaleString("en")} places` + (people ? `, ${(way / people).toFixed(1)} miles on average` : ""));
        const table = element("table"); table.append(element("caption", `${state.direction === "to" ? "Homes" : "Workplaces"}, ${label[name]}`, name === "original" ? "original" : ""));
        const head = element("tr"); head.append(element("th", "place"), element("th", "workers", "n"), element("th", "miles", "n")); table.append(head);
        for (const f of flows.slice(0, 10)) { const row = element("tr"); row.append(element("td", names[f.place]), element("td", f.count.toLocaleString("en"), "n"), element("td", miles(state.place, f.place).toFixed(1), "n")); table.append(row); }
        if (flows.length > 10) { const row = element("tr"); const cell = element("td", `and ${(flows.length - 10).toLocaleString("en")} more`); cell.colSpan = 3; row.append(cell); table.append(row); }
        tables.append(table); bars.push({ name, flows, people });
      }
      summary.textContent = words.join(". ") + ".";
    }
    histogram(bars);
  }
  function histogram(bars) {
    const svg = document.getElementById("histogram"), ns = "http://www.w3.org/2000/svg";
    svg.replaceChildren();
    if (!bars.length || !bars.some((b) => b.people)) { svg.setAttribute("aria-label", "No commute to show"); return; }
    let far = 1;
    for (const b of bars) for (const f of b.flows) far = Math.max(far, miles(state.place, f.place));
    const step = far > 120 ? 20 : far > 60 ? 10 : far > 24 ? 5 : far > 10 ? 2 : 1, bins = Math.floor(far / step) + 1;
    const shares = bars.map((b) => { const s = new Float64Array(bins); for (const f of b.flows) s[Math.floor(miles(state.place, f.place) / step)] += f.count / (b.people || 1); return s; });
    const most = Math.max(...shares.map((s) => Math.max(...s)));
    const add = (tag, attributes, text) => { const e = document.createElementNS(ns, tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); if (text !== undefined) e.textContent = text; svg.append(e); };
    const wide = 310 / bins, each = wide / bars.length;
    shares.forEach((s, k) => s.forEach((share, i) => { if (share > 0) add("rect", { class: "bar " + bars[k].name, x: 40 + i * wide + k * each, y: 150 - 130 * share / most, width: Math.max(1, each - 1), height: 130 * share / most, fill: colours[bars[k].name] }); }));
    add("path", { d: "M40,150H352", stroke: "#555" });
    for (let i = 0; i <= bins; i += Math.ceil(bins / 8)) add("text", { x: 40 + i * wide, y: 166, "text-anchor": "middle", "font-size": 11 }, String(i * step));
    add("text", { x: 196, y: 184, "text-anchor": "middle", "font-size": 12 }, "miles");
    add("text", { x: 36, y: 26, "text-anchor": "end", "font-size": 11 }, (100 * most).toFixed(0) + " %");
    add("text", { x: 36, y: 152, "text-anchor": "end", "font-size": 11 }, "0");
    svg.setAttribute("aria-label", bars.map((b, k) => `${label[b.name]}: ` + [...shares[k]].map((s, i) => s > 0.005 ? `${i * step} to ${(i + 1) * step} miles ${(100 * s).toFixed(0)} percent` : "").filter(Boolean).join(", ")).join("; "));
  }
  function choose(place, move) {
    state.place = place;
    if (move) { const near = shown().flatMap((name) => sets[name].of(place, state.direction).map((f) => f.place)); fit([place, ...(near.length ? near : Array.from({ length: number }, (_, i) => i))]); }
    tell(); draw();
  }
  const search = document.getElementById("search"), results = document.getElementById("results");
  const lower = names.map((n) => n.toLowerCase());
  function find() {
    const wanted = search.value.trim().toLowerCase(), bit = state.direction === "to" ? 2 : 1;
    results.replaceChildren();
    if (!wanted) return [];
    const hits = [];
    for (const pass of [(n) => n.startsWith(wanted), (n) => !n.startsWith(wanted) && n.includes(wanted)])
      for (let i = 0; i < number && hits.length < 20; i++) if (roles[i] & bit && pass(lower[i])) hits.push(i);
    for (const hit of hits) { const button = element("button", names[hit]); button.type = "button"; button.addEventListener("click", () => { search.value = names[hit]; results.replaceChildren(); choose(hit, true); }); results.append(button); }
    if (!hits.length) results.append(element("p", state.direction === "to" ? "no workplace of that name" : "no home of that name"));
    return hits;
  }
  search.addEventListener("input", find);
  search.addEventListener("keydown", (e) => { if (e.key === "Enter") { const hits = find(); if (hits.length) { results.replaceChildren(); search.value = names[hits[0]]; choose(hits[0], true); } } else if (e.key === "Escape") results.replaceChildren(); });
  for (const input of document.querySelectorAll("input[name=direction]")) input.addEventListener("change", () => { state.direction = input.value; document.getElementById("others").textContent = state.direction === "to" ? "homes" : "workplaces"; results.replaceChildren(); if (state.place >= 0) choose(state.place, true); });
  for (const input of document.querySelectorAll("input[name=mode]")) input.addEventListener("change", () => { state.mode = input.value; layout(); if (state.place >= 0) choose(state.place, true); else everything(); });
  function layout() { for (const panel of panels) panel.figure.hidden = !shown().includes(panel.name); draw(); }
  function zoom(factor, px, py, box) {
    const x = px === undefined ? 0 : (px - box.width / 2) / view.scale, y = py === undefined ? 0 : (py - box.height / 2) / view.scale;
    const next = Math.max(200, Math.min(5e8, view.scale * factor)), f = next / view.scale;
    view.x += x - x / f; view.y += y - y / f; view.scale = next; draw();
  }
  const everything = () => { fit(Array.from({ length: number }, (_, i) => i)); draw(); };
  document.getElementById("in").addEventListener("click", () => zoom(1.6));
  document.getElementById("out").addEventListener("click", () => zoom(1 / 1.6));
  document.getElementById("all").addEventListener("click", everything);
  for (const panel of panels) {
    const canvas = panel.canvas; let drag = null;
    canvas.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, y: e.clientY, moved: false }; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointermove", (e) => { if (!drag) return; const dx = e.clientX - drag.x, dy = e.clientY - drag.y; if (drag.moved || Math.hypot(dx, dy) > 4) { drag.moved = true; view.x -= dx / view.scale; view.y -= dy / view.scale; drag.x = e.clientX; drag.y = e.clientY; draw(); } });
    canvas.addEventListener("pointerup", (e) => {
      const was = drag; drag = null;
      if (!was || was.moved) return;
      const box = canvas.getBoundingClientRect(), px = view.x + (e.clientX - box.left - box.width / 2) / view.scale, py = view.y + (e.clientY - box.top - box.height / 2) / view.scale;
      const bit = state.direction === "to" ? 2 : 1; let best = -1, gap = Infinity;
      for (let i = 0; i < number; i++) if (roles[i] & bit) { const d = (xs[i] - px) ** 2 + (ys[i] - py) ** 2; if (d < gap) { gap = d; best = i; } }
      if (best >= 0) { results.replaceChildren(); search.value = names[best]; choose(best, false); }
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); const box = canvas.getBoundingClientRect(); zoom(Math.exp(-e.deltaY / 400), e.clientX - box.left, e.clientY - box.top, box); }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const step = 60 / view.scale, moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
      if (moves[e.key]) { view.x += moves[e.key][0]; view.y += moves[e.key][1]; draw(); e.preventDefault(); } else if (e.key === "+") zoom(1.6); else if (e.key === "-") zoom(1 / 1.6);
    });
  }
  window.addEventListener("resize", draw);
  everything();
  requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = String(Math.round(performance.now())); }));
})();
