// The four analyses of a selection, as numbers with intervals.
const state = { a: null, b: null, picking: "a", direction: "to", mode: "synthetic", layer: "jobs", level: "auto", tab: "profile", unit: "mi", unsure: false, tool: "click", adding: false, by: null, long: false };
const perUnit = () => state.unit === "mi" ? KM_PER_MILE : 1;
const distanceText = (km) => `${(km / perUnit()).toFixed(1)} ${state.unit === "mi" ? "miles" : "km"}`;
const sumOf = (values, mask) => { let sum = 0; for (let p = 0; p < places; p++) if (mask[p]) sum += values[p]; return sum; };
const alone = new Int32Array(places);
const one = (found, g = 0) => ({ value: found.value[g], low: found.low && found.low[g], high: found.high && found.high[g], exact: found.exact, sure: supported(found, g), text: intervalText(found, g) });

function residentsOf(set, mask) {
  if (set.name === "synthetic" && facts.errors && facts.errors.kind === "levels") for (const level of levels) {
    const known = facts.errors.homes[level.name], inside = known && wholeAreas(level, mask);
    if (!inside) continue;
    const E = arrayOf(known.estimate), D = arrayOf(known.deviation); let middle = 0, square = 0;
    inside.forEach((group, a) => { if (group === 0) { middle += E[a]; square += D[a] ** 2; } });
    return one(interval(Float64Array.of(sumOf(set.residents, mask)), 1, () => middle, () => square));
  }
  return one(tally(set, mask, "from", alone, 1));
}
function profileOf(set, selection) {
  const mask = selection.mask, jobs = sumOf(set.jobs, mask); let km2 = 0;
  selection.areas.forEach((a) => { km2 += selection.level.km2[a]; });
  return { jobs, residents: residentsOf(set, mask), km2, groups: ["work", "home"].flatMap((side) => characteristicsOf(mask, side)) };
}
function characteristicsOf(mask, side) {
  return (facts.characteristics || []).map(({ name, groups, sides }) => {
    for (const level of levels) {
      const known = sides[side][level.name], inside = known && wholeAreas(level, mask);
      if (!inside) continue;
      const [W, E, D] = ["workers", "estimate", "deviation"].map((figure) => arrayOf(known[figure])), n = groups.length;
      const sum = (values, square) => groups.map((_, g) => { let s = 0; inside.forEach((group, a) => { if (group === 0) s += square ? values[a * n + g] ** 2 : values[a * n + g]; }); return s; });
      const middle = sum(E, false), square = sum(D, true);
      return { name, side, groups, found: interval(Float64Array.from(sum(W, false)), n, (g) => middle[g], (g) => square[g]) };
    }
    return null;
  }).filter(Boolean);
}
function balanceOf(set, selection) {
  const inside = Int32Array.from(selection.mask), to = tally(set, selection.mask, "to", inside, 2), from = tally(set, selection.mask, "from", inside, 2);
  return { comeIn: one(to, 0), stay: one(to, 1), goOut: one(from, 0) };
}
// distances in bins of one width, each in eight directions: from the workplace to the home, or the other way round
const region = { km: stepKm(STEPS / 2) * STEPS };
function distancesOf(set, selection) {
  const far = region.km / perUnit(), width = [1, 2, 5, 10, 20, 50, 100].find((w) => far / w <= 70) || 200, bins = 60, to = state.direction === "to";
  const found = tallyPairs(set, selection.mask, state.direction, (lat1, lon1, lat2, lon2) => {
    const bin = Math.min(bins - 1, Math.floor(kilometres(lat1, lon1, lat2, lon2) / perUnit() / width));
    return bin * 8 + (to ? octant(lat2, lon2, lat1, lon1) : octant(lat1, lon1, lat2, lon2));
  }, bins * 8);
  const edges = [5, 10, 25].map((e) => e * width), band = (g) => edges.filter((e) => Math.floor(g / 8) * width >= e).length;
  let way = 0, all = 0;
  for (let g = 0; g < bins * 8; g++) { const weight = found.middle ? found.middle[g] : found.value[g]; way += weight * (Math.floor(g / 8) + 0.5) * width; all += weight; }
  return { width, edges, mean: all > 0 ? Math.max(0, way / all) : 0, bars: merged(found, bins, (g) => Math.floor(g / 8)), bands: merged(found, 4, band), directions: merged(found, 8, (g) => g % 8), rose: merged(found, 32, (g) => band(g) * 8 + g % 8) };
}
const bandText = (edges, k) => k === 0 ? `below ${edges[0]}` : k === edges.length ? `${edges[k - 1]} and more` : `${edges[k - 1]} to ${edges[k]}`;
// ranked by the level that has about as many areas as a list can hold
const rankingLevel = () => levels.find((l) => l.name === state.by) || chain.filter((l) => l !== placeLevel).sort((x, y) => Math.abs(Math.log(x.number / 40)) - Math.abs(Math.log(y.number / 40)))[0] || placeLevel;
function rankingOf(set, selection, level = rankingLevel()) {
  const found = tally(set, selection.mask, state.direction, level.of, level.number), rows = [];
  let all = 0, hidden = 0, hiddenAreas = 0;
  for (let a = 0; a < level.number; a++) if (found.value[a] > 0) {
    all += found.value[a];
    const row = { area: a, ...one(found, a) };
    if (row.sure || state.unsure) rows.push(row); else { hidden += row.value; hiddenAreas++; }
  }
  rows.sort((x, y) => y.sure - x.sure || y.value - x.value || x.area - y.area);
  return { level, rows, all, hidden, hiddenAreas, unknown: found.low === null };
}
// flows of the selection by area, kept until selection, direction or set change
const kept = new Map();
function flowsAt(set, level) {
  const key = `${set.name}|${level.name}|${state.direction}|${state.a.text}`;
  if (!kept.has(key)) {
    if (kept.size > 40) kept.clear();
    const found = tally(set, state.a.mask, state.direction, level.of, level.number); let all = 0, sure = 0;
    for (let a = 0; a < level.number; a++) { all += found.value[a]; if (supported(found, a)) sure += found.value[a]; }
    kept.set(key, { ...found, sureShare: all ? sure / all : 1 });
  }
  return kept.get(key);
}
