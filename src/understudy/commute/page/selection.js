// A selection is written as text, which is also what a link holds: areas of a level, a circle, or a polygon.
// "town:4400759000+4400774300", "circle:-71.41,41.82,5" (kilometres), "shape:-71.4,41.8;-71.3,41.8;-71.3,41.9"
const snapLevel = () => facts.errors && facts.errors.kind === "levels" ? measuredLevels()[measuredLevels().length - 1] || placeLevel : placeLevel;
function selectionOf(text) {
  const [kind, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (kind === "circle" || kind === "shape") return drawnSelection(text, kind, rest);
  const level = levels.find((l) => l.name === kind);
  const areas = level ? rest.split("+").map((code) => level.codeNumber.get(decodeURIComponent(code))).filter((a) => a !== undefined) : [];
  if (!areas.length) return null;
  const mask = new Uint8Array(places), chosen = new Set(areas);
  for (let p = 0; p < places; p++) if (chosen.has(level.of[p])) mask[p] = 1;
  const label = areas.length > 3 ? `${areas.length} areas (${titled(level, areas[0])} and others)` : areas.map((a) => titled(level, a)).join(" + ");
  const where = areas.length === 1 ? within(level, areas[0]) : "";
  return { text, level, areas, mask, label: where && where !== label ? `${label}, ${where}` : label };
}
const areaText = (level, areas) => `${level.name}:${areas.map((a) => encodeURIComponent(level.codes[a])).join("+")}`;
function drawnSelection(text, kind, rest) {
  const level = snapLevel(), mask = new Uint8Array(places); let inside, label, corners = null, circle = null;
  if (kind === "circle") {
    const [longitude, latitude, km] = rest.split(",").map(Number);
    if (![longitude, latitude, km].every(Number.isFinite) || km <= 0) return null;
    circle = { x: stepX(longitude), y: stepY(latitude), km };
    inside = (x, y) => kilometres(latitude * radians, longitude * radians, latitudeOf(y) * radians, longitudeOf(x) * radians) <= km;
    label = `circle of ${distanceText(km)}`;
  } else {
    corners = rest.split(";").map((pair) => pair.split(",").map(Number)).map(([lon, lat]) => [stepX(lon), stepY(lat)]);
    if (corners.length < 3 || !corners.flat().every(Number.isFinite)) return null;
    inside = (x, y) => { let odd = false; for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) { const [xi, yi] = corners[i], [xj, yj] = corners[j]; if ((yi > y) !== (yj > y) && x < (xj - xi) * (y - yi) / (yj - yi) + xi) odd = !odd; } return odd; };
    label = `polygon of ${corners.length} corners`;
  }
  // whole areas of the finest level that was measured, by their middles: an interval is known for those
  const areas = [];
  for (let a = 0; a < level.number; a++) if (inside(level.x[a], level.y[a])) areas.push(a);
  const chosen = new Set(areas); let number = 0;
  for (let p = 0; p < places; p++) if (chosen.has(level.of[p])) { mask[p] = 1; number++; }
  if (!number) return null;
  return { text, level, areas, mask, corners, circle, label: `${label}, ${whole(areas.length)} ${level.name}${areas.length === 1 ? "" : "s"}` };
}
