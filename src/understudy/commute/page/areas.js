// Levels of areas, coarse to fine; the places themselves are the last. Outlines are in steps of the grid.
const levels = facts.levels.map((level, index) => {
  const of = arrayOf(level.of), number = level.labels.length, x = new Float64Array(number), y = new Float64Array(number), weight = new Float64Array(number);
  for (let p = 0; p < places; p++) if (of[p] >= 0) { x[of[p]] += spots[2 * p]; y[of[p]] += spots[2 * p + 1]; weight[of[p]]++; }
  for (let a = 0; a < number; a++) if (weight[a]) { x[a] /= weight[a]; y[a] /= weight[a]; }
  const made = { index, name: level.name, labels: level.labels, codes: level.codes || level.labels, number, of, x, y, points: arrayOf(level.points), paths: new Array(number) };
  // what only some levels are asked for is computed when it is asked for
  const later = (name, compute) => Object.defineProperty(made, name, { configurable: true, get() { const value = compute(); Object.defineProperty(made, name, { value }); return value; } });
  later("codeNumber", () => new Map(made.codes.map((code, area) => [code, area])));
  later("rings", () => ringsOf(number, arrayOf(level.areas), arrayOf(level.starts)));
  later("box", () => boxesOf(made));
  later("km2", () => sizesOf(made));
  return made;
});
function ringsOf(number, areas, lengths) {
  const rings = Array.from({ length: number }, () => []); let at = 0;
  for (let r = 0; r < areas.length; r++) { rings[areas[r]].push([at, at + lengths[r]]); at += lengths[r]; }
  return rings;
}
// left, top, right and bottom of each area; of its middle where it has no outline
function boxesOf({ number, rings, points, x, y }) {
  const boxes = new Float64Array(4 * number);
  for (let a = 0; a < number; a++) {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (const [start, end] of rings[a]) for (let i = start; i < end; i++) { const px = points[2 * i], py = points[2 * i + 1]; if (px < left) left = px; if (px > right) right = px; if (py < top) top = py; if (py > bottom) bottom = py; }
    boxes.set(rings[a].length ? [left, top, right, bottom] : [x[a], y[a], x[a], y[a]], 4 * a);
  }
  return boxes;
}
function sizesOf({ number, rings, points, y }) {
  return Float64Array.from({ length: number }, (_, a) => {
    let twice = 0;
    for (const [start, end] of rings[a]) { let ring = 0; for (let i = start, j = end - 1; i < end; j = i++) ring += points[2 * j] * points[2 * i + 1] - points[2 * i] * points[2 * j + 1]; twice += Math.abs(ring); }
    return Math.max(twice / 2 * stepKm(y[a]) ** 2, 1e-4);
  });
}
const placeLevel = levels[levels.length - 1];
function stepKm(y) { return 2 * Math.PI * EARTH_KM * frame.size / STEPS * Math.cos(latitudeOf(y) * radians); }
function pathOf(level, area) {
  if (!level.paths[area]) {
    const path = new Path2D();
    for (const [start, end] of level.rings[area]) { for (let i = start; i < end; i++) path[i === start ? "moveTo" : "lineTo"](level.points[2 * i], level.points[2 * i + 1]); path.closePath(); }
    if (!level.rings[area].length && level === placeLevel) path.rect(level.x[area] - 60, level.y[area] - 60, 120, 120);
    level.paths[area] = path;
  }
  return level.paths[area];
}
function inRings(level, area, x, y) {
  let inside = false; const points = level.points;
  for (const [start, end] of level.rings[area]) for (let i = start, j = end - 1; i < end; j = i++) {
    const yi = points[2 * i + 1], yj = points[2 * j + 1];
    if ((yi > y) !== (yj > y) && x < (points[2 * j] - points[2 * i]) * (y - yi) / (yj - yi) + points[2 * i]) inside = !inside;
  }
  return inside;
}
function areaAt(level, x, y) {
  const box = level.box;
  for (let a = 0; a < level.number; a++) if (x >= box[4 * a] && x <= box[4 * a + 2] && y >= box[4 * a + 1] && y <= box[4 * a + 3] && inRings(level, a, x, y)) return a;
  return -1;
}
function summed(level, values) {
  const sums = new Float64Array(level.number);
  for (let p = 0; p < places; p++) if (level.of[p] >= 0) sums[level.of[p]] += values[p];
  return sums;
}
// Levels to zoom through: those of the release, others where they nest in these (a postal area that crosses borders does
// not), and the places.
const chain = [];
const nests = (level, above) => {
  const together = new Map(), best = new Map(); let same = 0;
  for (let p = 0; p < places; p++) { const key = level.of[p] * 1e6 + above.of[p]; together.set(key, (together.get(key) || 0) + 1); }
  for (const [key, number] of together) { const area = Math.floor(key / 1e6); best.set(area, Math.max(best.get(area) || 0, number)); }
  for (const number of best.values()) same += number;
  return same >= 0.97 * places;
};
const hasMain = facts.levels.some((level) => level.main);
for (const level of levels) {
  const last = chain[chain.length - 1];
  if (level === placeLevel || facts.levels[level.index].main || (last ? level.number > last.number && nests(level, last) : !hasMain)) chain.push(level);
}
// which town or county an area lies in, to tell two of one name apart
function within(level, area) {
  const above = chain.filter((l) => l.number > 1 && l.number <= 150 && l.index < level.index).pop();
  if (!above || !chain.includes(level)) return "";
  const p = level === placeLevel ? area : level.of.indexOf(area);
  return p >= 0 && above.of[p] >= 0 ? above.labels[above.of[p]] : "";
}
const titled = (level, area) => level.labels[area].toLowerCase().includes(level.name) || /^\D+$/.test(level.labels[area]) || level === placeLevel ? level.labels[area] : `${level.name} ${level.labels[area]}`;
