// How far sums of flows can be from the real ones. Everything here comes from public numbers: virtual workers and output
// sizes of the draws, or the deviations that a release states for what it measured.
const Z = 1.959964;
const measuredLevels = () => facts.errors && facts.errors.kind === "levels" ? levels.filter((l) => facts.errors.levels[l.name]) : [];
const knowsErrors = facts.errors !== null;
const drawn = facts.errors && facts.errors.kind === "draws" ? Object.fromEntries(["gains", "virtual", "factors", "floors"].map((name) => [name, arrayOf(facts.errors[name])])) : null;
const isHome = (p) => roles[p] & 1;

// Workers of the selection by group of the other side: direction "to" counts homes of those who work in the mask, "from" the
// workplaces of those who live in it. groupOf says the group of each place, -1 for none.
function tally(set, mask, direction, groupOf, number) {
  const value = new Float64Array(number), to = direction === "to", { homes, work, counts } = set;
  const inside = to ? work : homes, other = to ? homes : work;
  const centre = new Float64Array(number), spread = new Float64Array(number);
  for (let i = 0; i < counts.length; i++) {
    if (!mask[inside[i]]) continue;
    const group = groupOf[other[i]];
    if (group < 0) continue;
    value[group] += counts[i];
    if (drawn) { centre[group] += drawn.gains[work[i]] * counts[i]; spread[group] += drawn.factors[work[i]] * counts[i]; }
  }
  if (set.name !== "synthetic") return { value, low: value, high: value, exact: true };
  if (drawn) return drawnIntervals(value, centre, spread, mask, to, groupOf);
  return measuredIntervals(value, mask, to, groupOf);
}
function drawnIntervals(value, centre, spread, mask, to, groupOf) {
  const number = value.length, virtual = new Float64Array(number), floor = new Float64Array(number), origins = new Float64Array(number);
  let allVirtual = 0, allFloor = 0, allOrigins = 0;
  for (let p = 0; p < places; p++) {
    const group = groupOf[p];
    if (mask[p]) { allVirtual += drawn.virtual[p]; allFloor += drawn.factors[p] * drawn.floors[p]; if (isHome(p)) allOrigins++; }
    if (group >= 0) { virtual[group] += drawn.virtual[p]; floor[group] += drawn.factors[p] * drawn.floors[p]; if (isHome(p)) origins[group]++; }
  }
  return estimated(interval(value, number, (g) => centre[g] - (to ? origins[g] * allVirtual : allOrigins * virtual[g]), (g) => Math.max(spread[g], to ? origins[g] * allFloor : allOrigins * floor[g])));
}
// Drawn workers include virtual ones: what is shown is the estimate without them, and what was released is kept beside it.
const estimated = (found) => ({ ...found, released: found.value, value: found.middle.map((m) => Math.max(0, m)) });
function interval(value, number, centre, variance) {
  const low = new Float64Array(number), high = new Float64Array(number), middle = new Float64Array(number), square = new Float64Array(number);
  for (let g = 0; g < number; g++) {
    const c = middle[g] = centre(g), half = Z * Math.sqrt(square[g] = variance(g));
    low[g] = Math.max(0, c - half); high[g] = Math.max(0, c + half);
  }
  return { value, low, high, middle, square };
}
// Groups put together: estimates and variances add up.
function merged(found, number, into) {
  const add = (values) => { const sums = new Float64Array(number); values.forEach((v, g) => { sums[into(g)] += v; }); return sums; };
  const value = add(found.value);
  if (found.exact) return { value, low: value, high: value, exact: true };
  if (!found.middle) return { value, low: null, high: null };
  const middle = add(found.middle), square = add(found.square), joined = interval(found.released ? add(found.released) : value, number, (g) => middle[g], (g) => square[g]);
  return found.released ? estimated(joined) : joined;
}
// Which group each area of a level lies in as a whole (-1 for none), and all groups that it has a part of. Shares are of
// workers; less than one in a hundred does not count.
function groupsAt(level, groupOf) {
  const shares = Array.from({ length: level.number }, () => new Map()), { jobs, residents } = sets.synthetic;
  for (let p = 0; p < places; p++) if (level.of[p] >= 0) { const mine = shares[level.of[p]]; mine.set(groupOf[p], (mine.get(groupOf[p]) || 0) + jobs[p] + residents[p] + 1e-6); }
  const wholly = new Int32Array(level.number).fill(-1), partly = []; let divided = false;
  shares.forEach((mine, area) => {
    let all = 0; for (const workers of mine.values()) all += workers;
    const touched = [...mine].filter(([, workers]) => workers >= 0.01 * all).map(([group]) => group);
    if (touched.length === 1) wholly[area] = touched[0]; else divided = true;
    partly.push(touched.filter((group) => group >= 0));
  });
  return { wholly, partly, divided };
}
const maskGroups = (mask) => Int32Array.from(mask, (m) => m ? 0 : -1);
// The areas of which a mask is made, if it is made of whole ones.
function wholeAreas(level, mask) {
  const { wholly, divided } = groupsAt(level, maskGroups(mask));
  return divided || !wholly.includes(0) ? null : wholly;
}
// At the coarsest measured level that divides neither selection nor groups; else at the finest one, where the part of a
// divided area may be anything between nothing and all of it.
function measuredIntervals(value, mask, to, groupOf) {
  const known = measuredLevels();
  for (const level of known) {
    const inside = groupsAt(level, maskGroups(mask)), groups = groupsAt(level, groupOf);
    if ((inside.divided || groups.divided) && level !== known[known.length - 1]) continue;
    const { estimate, deviation } = facts.errors.levels[level.name], E = arrayOf(estimate), D = arrayOf(deviation), n = level.number, number = value.length;
    const least = new Float64Array(number), most = new Float64Array(number), leastSquare = new Float64Array(number), square = new Float64Array(number);
    for (let a = 0; a < n; a++) if (inside.partly[a].length) for (let b = 0; b < n; b++) for (const group of groups.partly[b]) {
      const at = to ? b * n + a : a * n + b; // rows are homes, columns workplaces
      most[group] += E[at]; square[group] += D[at] * D[at];
      if (inside.wholly[a] === 0 && groups.wholly[b] === group) { least[group] += E[at]; leastSquare[group] += D[at] * D[at]; }
    }
    const low = least.map((v, g) => Math.max(0, v - Z * Math.sqrt(leastSquare[g]))), high = most.map((v, g) => Math.max(0, v + Z * Math.sqrt(square[g])));
    return { value, low, high };
  }
  return { value, low: null, high: null };
}
// The same for groups of pairs, such as distances: virtual workers and measured flows lie at the middles of areas.
const middleLevel = () => { const known = measuredLevels(); if (known.length) return known[known.length - 1]; const small = levels.filter((l) => l.number <= 1200); return small.length ? small[small.length - 1] : null; };
function tallyPairs(set, mask, direction, pairGroup, number) {
  const value = new Float64Array(number), to = direction === "to", { homes, work, counts } = set;
  const centre = new Float64Array(number), spread = new Float64Array(number);
  for (let i = 0; i < counts.length; i++) {
    if (!mask[to ? work[i] : homes[i]]) continue;
    const h = homes[i], w = work[i], group = pairGroup(placeLat[h], placeLon[h], placeLat[w], placeLon[w]);
    value[group] += counts[i];
    if (drawn) { centre[group] += drawn.gains[w] * counts[i]; spread[group] += drawn.factors[w] * counts[i]; }
  }
  const level = middleLevel();
  if (set.name !== "synthetic") return { value, low: value, high: value, exact: true };
  if (!level || !knowsErrors) return { value, low: null, high: null };
  const n = level.number, lat = Float64Array.from(level.y, (y) => latitudeOf(y) * radians), lon = Float64Array.from(level.x, (x) => longitudeOf(x) * radians);
  if (drawn) {
    const origins = new Float64Array(n), virtual = new Float64Array(n), floor = new Float64Array(n), floors = new Float64Array(number);
    for (let p = 0; p < places; p++) { const a = level.of[p]; if (a < 0) continue; if (isHome(p) && (to || mask[p])) origins[a]++; if (!to || mask[p]) { virtual[a] += drawn.virtual[p]; floor[a] += drawn.factors[p] * drawn.floors[p]; } }
    for (let a = 0; a < n; a++) if (origins[a]) for (let b = 0; b < n; b++) if (virtual[b]) { const g = pairGroup(lat[a], lon[a], lat[b], lon[b]); centre[g] -= origins[a] * virtual[b]; floors[g] += origins[a] * floor[b]; }
    return estimated(interval(value, number, (g) => centre[g], (g) => Math.max(spread[g], floors[g])));
  }
  const { partly } = groupsAt(level, maskGroups(mask)), variance = new Float64Array(number), D = arrayOf(facts.errors.levels[level.name].deviation);
  for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) if (partly[to ? b : a].length) variance[pairGroup(lat[a], lon[a], lat[b], lon[b])] += D[a * n + b] ** 2;
  return interval(value, number, (g) => value[g], (g) => variance[g]); // released workers, with the noise of the pairs in the band
}
// A number is supported where its interval leaves 0 out; without intervals nothing is known, and everything is shown.
const supported = (found, group) => found.exact || !knowsErrors || (found.low !== null && found.low[group] > 0);
const intervalText = (found, group) => found.exact || !knowsErrors ? "" : found.low === null ? "unknown" : `${whole(found.low[group])} to ${whole(found.high[group])}`;
