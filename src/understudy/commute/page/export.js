// What is on the screen, to take away.
function save(name, type, content) {
  const link = element("a"); link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })); link.download = name;
  document.body.append(link); link.click(); link.remove(); setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
const quoted = (value) => /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
const levelSeen = () => levelFor(sets.synthetic);
function areaRows() {
  const level = levelSeen(), set = sets[shown()[0]], jobs = summed(level, set.jobs), residents = valuesOf(set, level, "homes"), flows = state.a ? flowsAt(set, level) : null, rows = [];
  for (let a = 0; a < level.number; a++) {
    const sure = !flows || supported(flows, a);
    rows.push({ area: a, level: level.name, code: level.codes[a], name: level.labels[a], jobs: jobs[a], workers_living_there: supported(residents, a) || state.unsure ? Math.round(residents.value[a]) : "",
      ...(flows ? { selection: state.a.label, direction: state.direction, flow: sure || state.unsure ? Math.round(flows.value[a]) : "", low: flows.low && (sure || state.unsure) ? Math.round(flows.low[a]) : "", high: flows.high && (sure || state.unsure) ? Math.round(flows.high[a]) : "", supported: sure } : {}), flows: set.name });
  }
  return { level, rows };
}
function exportCsv() {
  const { rows } = areaRows(), heads = Object.keys(rows[0]).filter((k) => k !== "area");
  save("commutes.csv", "text/csv", [heads.join(","), ...rows.map((row) => heads.map((k) => quoted(row[k])).join(","))].join("\n") + "\n");
}
function exportGeojson() {
  const { level, rows } = areaRows(), degrees = (i) => [Number(longitudeOf(level.points[2 * i]).toFixed(6)), Number(latitudeOf(level.points[2 * i + 1]).toFixed(6))];
  const ring = ([start, end]) => { const points = []; for (let i = start; i < end; i++) points.push(degrees(i)); points.push(points[0]); return points; };
  const features = rows.map(({ area, ...properties }) => ({ type: "Feature", properties, geometry: { type: "MultiPolygon", coordinates: level.rings[area].map((r) => [ring(r)]) } }));
  save("commutes.geojson", "application/geo+json", JSON.stringify({ type: "FeatureCollection", features }));
}
function exportPng() {
  const canvas = panels.find((p) => !p.figure.hidden).canvas, copy = document.createElement("canvas"), ratio = window.devicePixelRatio || 1; copy.width = canvas.width; copy.height = canvas.height + 58 * ratio;
  const ctx = copy.getContext("2d"); ctx.fillStyle = styleOf("--paper"); ctx.fillRect(0, 0, copy.width, copy.height); ctx.drawImage(canvas, 0, 58 * ratio);
  ctx.scale(ratio, ratio); ctx.fillStyle = styleOf("--ink"); ctx.font = "600 15px system-ui, sans-serif"; ctx.fillText(`${facts.title}: ${byId("chosen").textContent}`, 10, 20);
  ctx.font = "12px system-ui, sans-serif"; ctx.fillText(`${[...byId("key").children].map((e) => e.textContent).join(" | ")}${facts.sets.original ? " | CONFIDENTIAL" : " | synthetic"}`, 10, 42);
  try { copy.toBlob((blob) => save("commutes.png", "image/png", blob)); } catch { byId("hint").textContent = "The tiles of another server may not be copied: make the page without tiles for a picture."; }
}
