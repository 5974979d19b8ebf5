// Small drawings in the panel; each says its numbers in words too, and a table stands below it.
const element = (tag, text, cls) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
function drawing(width, height, words) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`); svg.setAttribute("role", "img"); svg.setAttribute("aria-label", words);
  const add = (tag, attributes, text) => { const e = document.createElementNS(svg.namespaceURI, tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); if (text !== undefined) e.textContent = text; svg.append(e); return e; };
  return { svg, add };
}
function whisker(add, x1, x2, y) { add("path", { class: "whisker", d: `M${x1},${y}H${x2}M${x1},${y - 3}v6M${x2},${y - 3}v6` }); }
// bars from left to right with their intervals
function barChart(labels, found, words) {
  const all = found.value.reduce((a, b) => a + b, 0), most = Math.max(1, ...found.value, ...(found.high || [])), { svg, add } = drawing(360, 24 * labels.length + 4, words);
  labels.forEach((label, g) => {
    const y = 24 * g + 4, width = 122 / most, sure = supported(found, g);
    add("text", { x: 0, y: y + 13, class: "small" }, label);
    if (sure || state.unsure) add("rect", { class: sure ? "bar" : "bar doubt", x: 146, y, width: Math.max(1, width * found.value[g]), height: 16 });
    if (!found.exact && found.low) whisker(add, 146 + width * found.low[g], 146 + width * Math.min(found.high[g], most), y + 8);
    add("text", { x: 358, y: y + 13, class: "small", "text-anchor": "end" }, `${whole(found.value[g])}, ${share(found.value[g], all)}`);
  });
  return svg;
}
// who comes in, who stays, who goes out
function balanceChart({ comeIn, stay, goOut }, name) {
  const words = `${whole(comeIn.value)} come in, ${whole(stay.value)} live and work in ${name}, ${whole(goOut.value)} go out`, { svg, add } = drawing(360, 150, words);
  const most = Math.max(comeIn.value, stay.value, goOut.value, 1), thick = (v) => 6 + 34 * Math.sqrt(v / most);
  const arrow = (x, v, cls) => { const h = thick(v); add("path", { class: cls, d: `M${x},${75 - h / 2}h70v${-6}l18,${h / 2 + 6}l-18,${h / 2 + 6}v-6h-70z` }); };
  add("circle", { class: "ring", cx: 180, cy: 75, r: 58 }); arrow(26, comeIn.value, "in"); arrow(246, goOut.value, "out");
  [[66, "come in", comeIn], [180, "stay", stay], [290, "go out", goOut]].forEach(([x, word, it]) => { add("text", { x, y: word === "stay" ? 66 : 20, "text-anchor": "middle", class: "small" }, word); add("text", { x, y: word === "stay" ? 86 : 36, "text-anchor": "middle", class: "big" }, it.sure || state.unsure || it.value < 0.5 ? whole(it.value) : "?"); });
  return svg;
}
const WINDS = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];
// a rose: one petal for each direction, its parts are bands of distance, its length the number of workers
function roseChart({ rose, directions, edges }) {
  const all = directions.value.reduce((a, b) => a + b, 0), most = Math.max(...directions.value, 1);
  const { svg, add } = drawing(360, 300, WINDS.map((wind, d) => `${wind} ${share(directions.value[d], all)}`).join(", ")), spot = (r, turn) => `${(180 + r * Math.sin(turn)).toFixed(1)},${(128 - r * Math.cos(turn)).toFixed(1)}`;
  for (const part of [0.5, 1]) add("circle", { class: "grid", cx: 180, cy: 128, r: 108 * part });
  for (let d = 0; d < 8; d++) {
    const turn = d * Math.PI / 4, a = turn - 0.33, b = turn + 0.33, sure = supported(directions, d); let inner = 0;
    for (let k = 0; k < 4; k++) {
      const outer = inner + 108 * rose.value[k * 8 + d] / most;
      if (outer > inner && (sure || state.unsure)) add("path", { class: sure ? `band${k}` : "doubt", d: `M${spot(inner, a)}L${spot(outer, a)}A${outer},${outer} 0 0 1 ${spot(outer, b)}L${spot(inner, b)}A${inner},${inner} 0 0 0 ${spot(inner, a)}z` });
      inner = outer;
    }
    const [x, y] = spot(121, turn).split(","); add("text", { x, y: Number(y) + 4, "text-anchor": "middle", class: "small" }, WINDS[d]);
  }
  for (const part of [0.5, 1]) add("text", { x: 186 + 42 * part, y: 128 - 101 * part, class: "tiny halo" }, share(most * part, all));
  for (let k = 0; k < 4; k++) { add("rect", { class: `band${k}`, x: 6 + 89 * k, y: 276, width: 12, height: 12 }); add("text", { x: 22 + 89 * k, y: 286, class: "tiny" }, k ? bandText(edges, k) : `${bandText(edges, k)} ${state.unit}`); }
  return svg;
}
// bars as narrow as their intervals support: most workers are in bars that can be told from 0
function histogram({ bars: fine, width: narrow }) {
  const joined = (n) => n === 1 ? fine : merged(fine, Math.ceil(fine.value.length / n), (k) => Math.floor(k / n));
  const sureShare = (found) => { let sure = 0, whole = 0; found.value.forEach((v, k) => { whole += v; if (supported(found, k)) sure += v; }); return whole ? sure / whole : 1; };
  const times = [1, 2, 5].find((n) => sureShare(joined(n)) > 0.9) || 10, bars = joined(times), width = narrow * times;
  const all = bars.value.reduce((a, b) => a + b, 0); let last = 1, sum = 0;
  bars.value.forEach((v, k) => { sum += v; if (v > 0 && sum - v < 0.995 * all) last = k + 1; });
  const unit = state.unit === "mi" ? "miles" : "km", most = Math.max(1, ...bars.value.slice(0, last)), wide = 310 / last;
  const { svg, add } = drawing(360, 170, [...bars.value.slice(0, last)].map((v, k) => v / all > 0.02 ? `${k * width} to ${(k + 1) * width} ${unit} ${share(v, all)}` : "").filter(Boolean).join(", ") || "no commute");
  svg.id = "histogram";
  for (let k = 0; k < last; k++) if (bars.value[k] > 0 && (supported(bars, k) || state.unsure)) {
    add("rect", { class: supported(bars, k) ? "bar" : "bar doubt", x: 40 + k * wide, y: 130 - 112 * bars.value[k] / most, width: Math.max(1, wide - 1), height: 112 * bars.value[k] / most });
    if (!bars.exact && bars.low && last < 40) { const x = 40 + (k + 0.5) * wide, top = 130 - 112 * Math.min(bars.high[k], 1.12 * most) / most; add("path", { class: "whisker", d: `M${x},${130 - 112 * Math.min(bars.low[k], most) / most}V${top}` }); }
  }
  add("path", { class: "axis", d: "M40,130H352" });
  for (let k = 0; k <= last; k += Math.ceil(last / 8)) add("text", { x: 40 + k * wide, y: 145, "text-anchor": "middle", class: "tiny" }, String(k * width));
  add("text", { x: 196, y: 163, "text-anchor": "middle", class: "small" }, unit);
  add("text", { x: 36, y: 24, "text-anchor": "end", class: "tiny" }, share(most, all));
  return svg;
}
