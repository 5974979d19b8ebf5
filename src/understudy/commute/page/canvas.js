// Painting: areas coloured by class, outlines, names where there is room, the selection, and tiles if any were asked for.
const view = { x: STEPS / 2, y: STEPS / 2, scale: 0.01 }; // pixels per step
const panels = [...document.querySelectorAll("#maps figure")].map((figure) => ({ name: figure.id.slice(4), figure, canvas: figure.querySelector("canvas"), cross: false }));
const shown = () => state.mode === "beside" ? ["synthetic", "original"] : [state.mode];
const sketch = { circle: null, corners: null }; // what is being drawn
const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ramp = (kind) => [1, 2, 3, 4, 5, 6].map((k) => styleOf(`--${kind}${k}`));

function fitBox([left, top, right, bottom]) {
  const box = panels.find((p) => !p.figure.hidden).canvas.getBoundingClientRect();
  view.x = (left + right) / 2; view.y = (top + bottom) / 2;
  view.scale = 0.92 * Math.min(box.width / Math.max(right - left, 40), box.height / Math.max(bottom - top, 40));
}
function boxOf(level, areas) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const a of areas) { box[0] = Math.min(box[0], level.box[4 * a]); box[1] = Math.min(box[1], level.box[4 * a + 1]); box[2] = Math.max(box[2], level.box[4 * a + 2]); box[3] = Math.max(box[3], level.box[4 * a + 3]); }
  return box;
}
const everything = () => { fitBox(boxOf(levels[0], levels[0].labels.map((_, a) => a))); draw(); };
const seen = (level, a, left, top, right, bottom) => level.box[4 * a + 2] >= left && level.box[4 * a] <= right && level.box[4 * a + 3] >= top && level.box[4 * a + 1] <= bottom;

// The finest level whose areas are still wide enough to be told apart, and whose flows their intervals support.
function levelFor(set) {
  if (state.level !== "auto") return levels.find((l) => l.name === state.level) || levels[0];
  const box = panels[0].canvas.getBoundingClientRect(), wide = box.width / view.scale / 2, high = box.height / view.scale / 2;
  for (const level of [...chain].reverse()) {
    let number = 0;
    for (let a = 0; a < level.number; a++) if (Math.abs(level.x[a] - view.x) < wide && Math.abs(level.y[a] - view.y) < high) number++;
    if (level.index > 0 && 4 * wide * high * view.scale ** 2 / Math.max(number, 1) < 30 * 30) continue;
    if (level.index > 0 && state.layer === "flows" && state.a && knowsErrors && !state.unsure && flowsAt(set, level).sureShare < 0.5) continue;
    return level;
  }
  return levels[0];
}
const known = new Map();
const everywhere = new Uint8Array(places).fill(1);
function valuesOf(set, level, kind) {
  const key = `${kind}|${set.name}|${level.name}`;
  if (!known.has(key)) known.set(key, kind === "jobs" ? { value: summed(level, set.jobs), exact: true } : homesAt(set, level));
  return known.get(key);
}
function homesAt(set, level) {
  const measured = set.name === "synthetic" && facts.errors && facts.errors.kind === "levels" && facts.errors.homes[level.name];
  if (!measured) return tally(set, everywhere, "to", level.of, level.number);
  const E = arrayOf(measured.estimate), D = arrayOf(measured.deviation);
  return interval(summed(level, set.residents), level.number, (a) => E[a], (a) => D[a] * D[a]);
}
function layerOf(set, level) {
  if (state.layer === "flows" && state.a) return { ...flowsAt(set, level), words: state.direction === "to" ? "workers living there" : "workers working there", kind: set.name === "original" ? "o" : "f" };
  const kind = state.layer === "homes" ? "homes" : "jobs", found = valuesOf(set, level, kind);
  const noun = kind === "jobs" ? "jobs" : "workers living there";
  if (facts.schematic) return { ...found, density: found.value, words: noun, kind: "d" }; // a diagram has no square miles
  const unit = state.unit === "mi" ? "square mile" : "km²", factor = state.unit === "mi" ? KM_PER_MILE ** 2 : 1;
  return { ...found, density: found.value.map((v, a) => v / level.km2[a] * factor), words: `${noun} per ${unit}`, kind: "d" };
}
// classes with round edges, from the numbers that are in view
function classesOf(numbers) {
  const sorted = numbers.filter((v) => v > 0).sort((x, y) => x - y), edges = [];
  for (const q of [0.2, 0.4, 0.6, 0.8, 0.94]) {
    const v = sorted[Math.floor(q * (sorted.length - 1))] || 0, power = 10 ** Math.floor(Math.log10(Math.max(v, 1e-9)));
    const edge = [1, 1.5, 2, 3, 5, 7, 10].map((m) => m * power).reduce((best, e) => Math.abs(e - v) < Math.abs(best - v) ? e : best);
    if (v > 0 && edge >= 1 && (!edges.length || edge > edges[edges.length - 1])) edges.push(edge);
  }
  return edges;
}
let pending = false;
function draw() { if (!pending) { pending = true; requestAnimationFrame(() => { pending = false; for (const panel of panels) if (!panel.figure.hidden) paint(panel); }); } }
const tiles = new Map();
function paintTiles(ctx, width, height) {
  if (!facts.tiles) return;
  const world = view.scale * STEPS / frame.size, zoom = Math.max(0, Math.min(19, Math.round(Math.log2(world / 256)))), n = 2 ** zoom, size = world / n;
  const cx = frame.left + view.x / STEPS * frame.size, cy = frame.top + view.y / STEPS * frame.size;
  ctx.globalAlpha = 0.5;
  for (let x = Math.floor((cx - width / 2 / world) * n); x <= Math.floor((cx + width / 2 / world) * n); x++) for (let y = Math.max(0, Math.floor((cy - height / 2 / world) * n)); y <= Math.min(n - 1, Math.floor((cy + height / 2 / world) * n)); y++) {
    const url = facts.tiles.replace("{z}", zoom).replace("{x}", ((x % n) + n) % n).replace("{y}", y);
    if (!tiles.has(url)) { const image = new Image(); image.onload = () => draw(); image.src = url; tiles.set(url, image); }
    const image = tiles.get(url);
    if (image.complete && image.naturalWidth) ctx.drawImage(image, (x / n - cx) * world + width / 2, (y / n - cy) * world + height / 2, size + 1, size + 1);
  }
  ctx.globalAlpha = 1;
}
function hatched(ctx, colour) {
  const tile = document.createElement("canvas"); tile.width = tile.height = 8;
  const pen = tile.getContext("2d"); pen.strokeStyle = colour; pen.lineWidth = 1.6; pen.beginPath();
  for (const x of [-8, 0, 8]) { pen.moveTo(x, 8); pen.lineTo(x + 8, 0); }
  pen.stroke();
  return ctx.createPattern(tile, "repeat");
}
function paint(panel) {
  const canvas = panel.canvas, box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1, width = Math.round(box.width), height = Math.round(box.height);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
  const ctx = canvas.getContext("2d"), set = sets[panel.name], level = levelFor(sets.synthetic), layer = layerOf(set, level), s = view.scale;
  const left = view.x - width / 2 / s, top = view.y - height / 2 / s, right = view.x + width / 2 / s, bottom = view.y + height / 2 / s;
  const flat = () => ctx.setTransform(ratio, 0, 0, ratio, 0, 0), ground = () => ctx.setTransform(ratio * s, 0, 0, ratio * s, ratio * (width / 2 - view.x * s), ratio * (height / 2 - view.y * s));
  flat(); ctx.fillStyle = styleOf("--sea"); ctx.fillRect(0, 0, width, height);
  paintTiles(ctx, width, height);
  const visible = [];
  for (let a = 0; a < level.number; a++) if (seen(level, a, left, top, right, bottom)) visible.push(a);
  const numbers = layer.density || layer.value;
  const sure = (a) => supported(layer, a), coloured = visible.filter((a) => numbers[a] > 0 && (sure(a) || state.unsure));
  const certain = coloured.filter(sure), edges = classesOf((certain.length ? certain : coloured).map((a) => numbers[a])), colours = ramp(layer.kind), classOf = (v) => edges.filter((e) => v >= e).length;
  ground(); ctx.lineJoin = "round"; ctx.globalAlpha = facts.tiles ? 0.7 : 1;
  const land = styleOf("--land"), line = styleOf("--border"), doubt = hatched(ctx, styleOf("--doubt"));
  doubt.setTransform(new DOMMatrix([1 / s, 0, 0, 1 / s, 0, 0]));
  for (const a of visible) { ctx.fillStyle = numbers[a] > 0 && sure(a) ? colours[classOf(numbers[a])] : land; ctx.fill(pathOf(level, a), "evenodd"); }
  if (state.unsure) for (const a of visible) if (numbers[a] > 0 && !sure(a)) {
    ctx.globalAlpha = 0.5; ctx.fillStyle = colours[classOf(numbers[a])]; ctx.fill(pathOf(level, a), "evenodd");
    ctx.globalAlpha = 1; ctx.fillStyle = doubt; ctx.fill(pathOf(level, a), "evenodd");
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = line; ctx.lineWidth = 0.7 / s; for (const a of visible) ctx.stroke(pathOf(level, a));
  const above = chain.filter((l) => l.index < level.index && l.number <= 150).pop() || null;
  if (above) { ctx.lineWidth = 1.5 / s; ctx.strokeStyle = styleOf("--border-strong"); for (let a = 0; a < above.number; a++) if (seen(above, a, left, top, right, bottom)) ctx.stroke(pathOf(above, a)); }
  for (const [selection, colour, dash] of [[state.b, "--pick-b", [7, 4]], [state.a, "--pick-a", []]]) if (selection) paintSelection(ctx, s, selection, styleOf(colour), dash);
  paintSketch(ctx, s);
  flat();
  paintNames(ctx, level, width, height);
  if (panel.cross) { ctx.strokeStyle = styleOf("--pick-a"); ctx.lineWidth = 2; ctx.beginPath(); ctx.moveTo(width / 2 - 9, height / 2); ctx.lineTo(width / 2 + 9, height / 2); ctx.moveTo(width / 2, height / 2 - 9); ctx.lineTo(width / 2, height / 2 + 9); ctx.stroke(); }
  if (panel.name === shown()[0]) tellKey(level, layer, edges, colours, visible, sure, numbers);
}
function paintSelection(ctx, s, selection, colour, dash) {
  ctx.setLineDash(dash.map((d) => d / s)); ctx.strokeStyle = colour; ctx.lineWidth = 3 / s;
  if (selection.circle || selection.corners) strokeShape(ctx, selection); else for (const a of selection.areas) ctx.stroke(pathOf(selection.level, a));
  ctx.setLineDash([]);
}
function strokeShape(ctx, { circle, corners }) {
  ctx.beginPath();
  if (circle) ctx.arc(circle.x, circle.y, circle.km / stepKm(circle.y), 0, 2 * Math.PI);
  else corners.forEach(([x, y], i) => ctx[i ? "lineTo" : "moveTo"](x, y));
  if (!circle && corners.length > 2) ctx.closePath();
  ctx.stroke();
}
function paintSketch(ctx, s) { if (sketch.circle || sketch.corners) { ctx.strokeStyle = styleOf("--pick-a"); ctx.lineWidth = 2 / s; strokeShape(ctx, sketch); } }
// Names of the level whose areas are wide enough, largest first, none over another.
function paintNames(ctx, level, width, height) {
  const roomy = (l) => { let n = 0, area = 0; for (let a = 0; a < l.number; a++) { area += (l.box[4 * a + 2] - l.box[4 * a]) * view.scale; n++; } return area / n > 62; };
  const named = chain.filter((l) => l.index <= level.index && l.number > 1 && roomy(l)).pop() || levels[0];
  if (named === placeLevel && /^\d{6,}$/.test(named.labels[0])) return;
  const order = Array.from({ length: named.number }, (_, a) => a), jobs = valuesOf(sets.synthetic, named, "jobs").value;
  const taken = []; ctx.font = "600 12px system-ui, sans-serif"; ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.lineWidth = 3; ctx.lineJoin = "round";
  ctx.strokeStyle = styleOf("--halo"); ctx.fillStyle = styleOf("--ink");
  for (const a of order.sort((x, y) => jobs[y] - jobs[x]).slice(0, 400)) {
    const x = (named.x[a] - view.x) * view.scale + width / 2, y = (named.y[a] - view.y) * view.scale + height / 2, text = named.labels[a].replace(/ \(.*\)$/, "").replace(/(?<!^no) (town|city|County.*)$/, ""), half = ctx.measureText(text).width / 2 + 4;
    if (text.startsWith("no ") || x < half || x > width - half || y < 10 || y > height - 10 || taken.some(([u, v, h]) => Math.abs(u - x) < h + half && Math.abs(v - y) < 16)) continue;
    taken.push([x, y, half]); ctx.strokeText(text, x, y); ctx.fillText(text, x, y);
    if (taken.length >= 60) break;
  }
}
