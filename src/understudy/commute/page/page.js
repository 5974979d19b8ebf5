// Choosing, searching, moving, links, and the start.
const hints = {
  click: "Click an area, or type its name. Shift adds one more. Drag to move, wheel or buttons to zoom.",
  circle: "Drag from the middle of the circle outwards, or set a radius and use the button.",
  polygon: "Click the corners one after the other (Enter sets one in the middle of the map), then close the polygon.",
};
function select(text, move, side = state.picking) {
  const selection = text ? selectionOf(text) : null;
  if (text && !selection) return false;
  const first = !state.a; state[side] = selection; state.picking = "a"; byId("hint").textContent = hints[state.tool];
  if (side === "a" && selection && first && state.layer === "jobs") { state.layer = "flows"; byId("layer").value = "flows"; }
  if (!state.a) { state.b = null; if (state.layer === "flows") { state.layer = "jobs"; byId("layer").value = "jobs"; } }
  state.long = false;
  if (move && selection) { const box = boxOf(selection.level, selection.areas), grow = Math.max(box[2] - box[0], box[3] - box[1]) * 0.6; fitBox([box[0] - grow, box[1] - grow, box[2] + grow, box[3] + grow]); }
  tell(); draw(); remember();
  return true;
}
function pickArea(level, area, add) {
  const old = state[state.picking];
  if (!add || !old || old.level !== level || old.circle || old.corners) return select(areaText(level, [area]), false);
  const areas = old.areas.includes(area) ? old.areas.filter((a) => a !== area) : [...old.areas, area];
  return select(areas.length ? areaText(level, areas) : "", false);
}
// the link
function remember() {
  const words = [];
  for (const [key, value] of [["a", state.a && state.a.text], ["b", state.b && state.b.text], ["tab", state.tab], ["show", state.direction], ["colour", state.layer], ["areas", state.level], ["unit", state.unit], ["unsure", state.unsure ? "1" : ""], ["by", state.by], ["at", `${Math.round(view.x)},${Math.round(view.y)},${view.scale.toPrecision(4)}`]]) if (value) words.push(`${key}=${encodeURIComponent(value)}`);
  const hash = `#${words.join("&")}`;
  if (location.hash !== hash) history.replaceState(null, "", hash);
}
function recall() {
  const words = new Map(location.hash.slice(1).split("&").filter(Boolean).map((w) => [w.slice(0, w.indexOf("=")), decodeURIComponent(w.slice(w.indexOf("=") + 1))]));
  const take = (key, field, allowed) => { if (allowed.includes(words.get(key))) state[field] = words.get(key); };
  take("tab", "tab", Object.keys(analyses)); take("show", "direction", ["to", "from"]); take("unit", "unit", ["mi", "km"]); take("areas", "level", ["auto", ...levels.map((l) => l.name)]); take("by", "by", levels.map((l) => l.name));
  state.unsure = words.get("unsure") === "1";
  for (const side of ["a", "b"]) state[side] = words.has(side) ? selectionOf(words.get(side)) : null;
  state.layer = state.a ? "flows" : "jobs"; take("colour", "layer", state.a ? ["jobs", "homes", "flows"] : ["jobs", "homes"]);
  const at = (words.get("at") || "").split(",").map(Number);
  if (at.length === 3 && at.every(Number.isFinite) && at[2] > 0) [view.x, view.y, view.scale] = at;
  else if (state.a) select(state.a.text, true, "a"); else everything();
  for (const [id, value] of [["layer", state.layer], ["level", state.level], ["unit", state.unit]]) byId(id).value = value;
  byId("unsure").checked = state.unsure; document.querySelector(`input[name=direction][value=${state.direction}]`).checked = true;
}
// search: names and codes of all levels, coarse first; what begins like the words comes before what holds them
const search = byId("search"), results = byId("results");
let lowered = null;
function find() {
  const wanted = search.value.trim().toLowerCase(), hits = [];
  results.replaceChildren();
  if (!wanted) return hits;
  lowered ||= levels.map((level) => level.labels.map((label, a) => [titled(level, a).toLowerCase(), label.toLowerCase(), level.codes[a].toLowerCase()]));
  for (const fits of [(w) => w.startsWith(wanted), (w) => w.includes(wanted) && !w.startsWith(wanted)]) levels.forEach((level, k) => { for (let a = 0, n = 0; a < level.number && hits.length < 24 && n < 8; a++) if (lowered[k][a].some(fits) && !hits.some((h) => h.level === level && h.area === a)) { hits.push({ level, area: a }); n++; } });
  hits.forEach((hit) => {
    const where = within(hit.level, hit.area), button = element("button", titled(hit.level, hit.area)); button.type = "button";
    button.append(element("span", ` ${hit.level.name}${where ? `, ${where}` : ""}`, "soft")); button.addEventListener("click", () => take(hit)); results.append(button);
  });
  if (!hits.length) results.append(element("p", "no area of that name"));
  return hits;
}
function take(hit) { results.replaceChildren(); search.value = titled(hit.level, hit.area); select(areaText(hit.level, [hit.area]), true); }
search.addEventListener("input", find);
search.addEventListener("keydown", (e) => {
  if (e.key === "Enter") { const hits = find(); if (hits.length) take(hits[0]); }
  else if (e.key === "Escape") results.replaceChildren();
  else if (e.key === "ArrowDown" && results.querySelector("button")) { results.querySelector("button").focus(); e.preventDefault(); }
});
results.addEventListener("keydown", (e) => {
  const next = e.key === "ArrowDown" ? document.activeElement.nextElementSibling : e.key === "ArrowUp" ? document.activeElement.previousElementSibling || search : e.key === "Escape" ? search : null;
  if (next) { next.focus(); e.preventDefault(); } if (e.key === "Escape") results.replaceChildren();
});
// controls
const again = () => { tell(); draw(); remember(); };
for (const level of levels) byId("level").append(element("option", level.name));
for (const [id, field] of [["layer", "layer"], ["level", "level"], ["unit", "unit"]]) byId(id).addEventListener("change", (e) => {
  const km = Number(byId("radius").value) * perUnit();
  state[field] = e.target.value;
  if (field === "unit") { byId("radius").value = (km / perUnit()).toFixed(1); for (const side of ["a", "b"]) if (state[side]) state[side] = selectionOf(state[side].text); } // a circle says its radius
  again();
});
byId("unsure").addEventListener("change", (e) => { state.unsure = e.target.checked; again(); });
byId("unsure-label").hidden = !knowsErrors;
byId("adding").addEventListener("change", (e) => { state.adding = e.target.checked; });
byId("tool").addEventListener("change", (e) => setTool(e.target.value));
function setTool(tool) {
  state.tool = tool; byId("tool").value = tool; sketch.circle = sketch.corners = null;
  byId("circle-form").hidden = tool !== "circle"; byId("polygon-form").hidden = tool !== "polygon";
  byId("hint").textContent = hints[tool];
  draw();
}
for (const input of document.querySelectorAll("input[name=direction]")) input.addEventListener("change", () => { state.direction = input.value; again(); });
for (const input of document.querySelectorAll("input[name=mode]")) input.addEventListener("change", () => { state.mode = input.value; for (const panel of panels) panel.figure.hidden = !shown().includes(panel.name); again(); });
byId("compare").addEventListener("click", () => { state.picking = state.picking === "b" ? "a" : "b"; byId("hint").textContent = state.picking === "b" ? "Now pick the area to compare with, on the map or by name." : hints[state.tool]; tell(); });
byId("clear").addEventListener("click", () => { state.b = null; select("", false, "a"); });
byId("csv").addEventListener("click", exportCsv); byId("geojson").addEventListener("click", exportGeojson); byId("png").addEventListener("click", exportPng);
byId("link").addEventListener("click", async () => { remember(); try { await navigator.clipboard.writeText(location.href); byId("link").textContent = "copied"; } catch { byId("hint").textContent = "The address of this page is the link: copy it from the address bar."; } });
const tabs = [...document.querySelectorAll("[role=tab]")];
tabs.forEach((tab, k) => {
  tab.addEventListener("click", () => { state.tab = tab.dataset.tab; again(); });
  tab.addEventListener("keydown", (e) => { const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]; if (step) { const next = tabs[(k + step + tabs.length) % tabs.length]; next.click(); next.focus(); e.preventDefault(); } });
});
// the map itself
function zoom(factor, px = 0, py = 0) {
  const next = Math.max(0.002, Math.min(20, view.scale * factor)), f = next / view.scale;
  view.x += px / view.scale * (1 - 1 / f); view.y += py / view.scale * (1 - 1 / f); view.scale = next; draw(); remember();
}
byId("in").addEventListener("click", () => zoom(1.6)); byId("out").addEventListener("click", () => zoom(1 / 1.6)); byId("all").addEventListener("click", () => { everything(); remember(); });
const circleText = (c) => `circle:${longitudeOf(c.x).toFixed(5)},${latitudeOf(c.y).toFixed(5)},${c.km.toFixed(2)}`;
byId("circle-here").addEventListener("click", () => { const km = Number(byId("radius").value) * perUnit(); if (!(km > 0) || !select(circleText({ x: view.x, y: view.y, km }), false)) byId("hint").textContent = "No area has its middle in this circle; make it larger."; });
byId("polygon-close").addEventListener("click", () => {
  const corners = sketch.corners || [];
  if (corners.length < 3 || !select(`shape:${corners.map(([x, y]) => `${longitudeOf(x).toFixed(5)},${latitudeOf(y).toFixed(5)}`).join(";")}`, false)) { byId("hint").textContent = "A polygon needs three corners or more, with the middle of some area inside."; return; }
  setTool("click");
});
const tip = byId("tip");
for (const panel of panels) {
  const canvas = panel.canvas, fingers = new Map(); let drag = null, pinch = 0;
  const ground = (e) => { const box = canvas.getBoundingClientRect(); return [view.x + (e.clientX - box.left - box.width / 2) / view.scale, view.y + (e.clientY - box.top - box.height / 2) / view.scale]; };
  const pick = (x, y, add) => {
    if (state.tool === "polygon") { (sketch.corners ||= []).push([x, y]); draw(); return; }
    const level = levelSeen(), area = areaAt(level, x, y);
    if (area >= 0) pickArea(level, area, add || state.adding);
  };
  canvas.addEventListener("pointerdown", (e) => { fingers.set(e.pointerId, e); drag = { x: e.clientX, y: e.clientY, moved: false, start: ground(e) }; canvas.setPointerCapture(e.pointerId); tip.hidden = true; });
  canvas.addEventListener("pointermove", (e) => {
    if (!drag) { hover(e); return; }
    fingers.set(e.pointerId, e);
    if (fingers.size === 2) { const [p, q] = [...fingers.values()], gap = Math.hypot(p.clientX - q.clientX, p.clientY - q.clientY); if (pinch) zoom(gap / pinch); pinch = gap; drag.moved = true; return; }
    const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) <= 4) return;
    drag.moved = true;
    if (state.tool === "circle") { const [x, y] = ground(e), [cx, cy] = drag.start; sketch.circle = { x: cx, y: cy, km: Math.hypot(x - cx, y - cy) * stepKm(cy) }; draw(); return; }
    view.x -= dx / view.scale; view.y -= dy / view.scale; drag.x = e.clientX; drag.y = e.clientY; draw();
  });
  canvas.addEventListener("pointerup", (e) => {
    const was = drag; fingers.delete(e.pointerId); pinch = 0; drag = fingers.size ? drag : null;
    if (!was) return;
    if (sketch.circle) { const circle = sketch.circle; sketch.circle = null; if (select(circleText(circle), false)) { byId("radius").value = (circle.km / perUnit()).toFixed(1); setTool("click"); } else draw(); return; }
    if (was.moved) { remember(); return; }
    pick(...ground(e), e.shiftKey);
  });
  canvas.addEventListener("pointercancel", (e) => { fingers.delete(e.pointerId); drag = null; pinch = 0; });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  const hover = (e) => {
    const level = levelSeen(), area = areaAt(level, ...ground(e)), box = panel.figure.parentElement.getBoundingClientRect();
    tip.hidden = area < 0 || e.pointerType === "touch"; if (tip.hidden) return;
    tip.replaceChildren(...tooltip(sets[panel.name], level, area).map((line, k) => element(k ? "div" : "strong", line)));
    tip.style.left = `${Math.min(e.clientX - box.left + 14, box.width - tip.offsetWidth - 6)}px`; tip.style.top = `${Math.min(e.clientY - box.top + 14, box.height - tip.offsetHeight - 6)}px`;
  };
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); const box = canvas.getBoundingClientRect(); zoom(Math.exp(-e.deltaY / 400), e.clientX - box.left - box.width / 2, e.clientY - box.top - box.height / 2); }, { passive: false });
  canvas.addEventListener("focus", () => { panel.cross = canvas.matches(":focus-visible"); draw(); });
  canvas.addEventListener("blur", () => { panel.cross = false; draw(); });
  canvas.addEventListener("keydown", (e) => {
    const step = 60 / view.scale, moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    panel.cross = true;
    if (moves[e.key]) { view.x += moves[e.key][0]; view.y += moves[e.key][1]; const level = levelSeen(), area = areaAt(level, view.x, view.y); byId("hint").textContent = area < 0 ? "no area in the middle" : tooltip(sets[panel.name], level, area).join("; "); draw(); remember(); e.preventDefault(); }
    else if (e.key === "+" || e.key === "=") zoom(1.6); else if (e.key === "-") zoom(1 / 1.6);
    else if (e.key === "Enter" || e.key === " ") { pick(view.x, view.y, e.shiftKey); e.preventDefault(); }
    else if (e.key === "Escape") setTool("click");
  });
}
window.addEventListener("resize", draw);
window.addEventListener("hashchange", () => { recall(); tell(); draw(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
recall(); tell(); draw();
requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = String(Math.round(performance.now())); }));
