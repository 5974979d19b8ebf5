// The data of the page: facts as JSON, then arrays, in one compressed piece of text.
const STEPS = 65535, EARTH_KM = 6371.0088, KM_PER_MILE = 1.609344;
async function unpacked(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
const buffer = await unpacked(JSON.parse(document.getElementById("data").textContent));
const headLength = Number(new DataView(buffer).getBigUint64(0, true));
const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, headLength)));
const arrays = new Map(facts.arrays.map((a) => [a.name, new window[a.kind](buffer, 8 + headLength + a.at, a.length)]));
const arrayOf = (name) => arrays.get(name);

// places: positions on the grid of the region, and degrees
const frame = facts.frame, spots = arrayOf(facts.spots), roles = arrayOf(facts.roles), places = roles.length;
const longitudeOf = (step) => (frame.left + step / STEPS * frame.size) * 360 - 180;
const latitudeOf = (step) => Math.atan(Math.sinh(Math.PI * (1 - 2 * (frame.top + step / STEPS * frame.size)))) * 180 / Math.PI;
const stepX = (longitude) => ((longitude + 180) / 360 - frame.left) / frame.size * STEPS;
const stepY = (latitude) => {
  const s = Math.sin(latitude * Math.PI / 180);
  return (0.5 - Math.log((1 + s) / (1 - s)) / (4 * Math.PI) - frame.top) / frame.size * STEPS;
};
const radians = Math.PI / 180, placeLat = new Float64Array(places), placeLon = new Float64Array(places);
for (let i = 0; i < places; i++) { placeLon[i] = longitudeOf(spots[2 * i]) * radians; placeLat[i] = latitudeOf(spots[2 * i + 1]) * radians; }
function kilometres(lat1, lon1, lat2, lon2) {
  const h = Math.sin((lat2 - lat1) / 2) ** 2 + Math.cos(lat1) * Math.cos(lat2) * Math.sin((lon2 - lon1) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}
// eight directions, north first, clockwise
function octant(lat1, lon1, lat2, lon2) {
  const east = (lon2 - lon1) * Math.cos((lat1 + lat2) / 2), turn = Math.atan2(east, lat2 - lat1) / (2 * Math.PI);
  return Math.round(turn * 8 + 8) % 8;
}

// flows by destination; the workplace of each pair is written out
const sets = {};
for (const [name, packed] of Object.entries(facts.sets)) {
  const numbers = arrayOf(packed.numbers), homes = arrayOf(packed.homes), counts = arrayOf(packed.counts);
  const work = new Uint32Array(homes.length), jobs = new Float64Array(places), residents = new Float64Array(places);
  let at = 0;
  for (let place = 0; place < places; place++) for (const end = at + numbers[place]; at < end; at++) {
    work[at] = place; jobs[place] += counts[at]; residents[homes[at]] += counts[at];
  }
  sets[name] = { name, homes, work, counts, jobs, residents };
}
const whole = (value) => Math.round(value).toLocaleString("en");
const share = (part, all) => all > 0 ? `${(100 * part / all).toFixed(100 * part / all < 9.95 ? 1 : 0)} %` : "–";
