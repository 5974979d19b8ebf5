// The panel beside the map: for each selection and each set of flows that is shown, one block of the chosen analysis.
const byId = (id) => document.getElementById(id);
const labelOf = { synthetic: "synthetic", original: "original, confidential" };
const blocks = () => [state.a, state.b].filter(Boolean).flatMap((selection) => shown().map((name) => ({ selection, set: sets[name] })));
const blockTitle = ({ selection, set }) => selection.label + (facts.sets.original ? ` (${labelOf[set.name]})` : "");
const figure = (it) => it.sure || state.unsure || it.value < 0.5 ? whole(it.value) : "not shown";

function table(caption, heads, rows) {
  const made = element("table"), head = element("tr"), body = element("tbody"), top = element("thead"), holder = element("div", undefined, "scroll");
  made.append(element("caption", caption)); top.append(head); made.append(top, body); holder.append(made);
  heads.forEach((text, k) => { const cell = element("th", text, k ? "n" : ""); cell.scope = "col"; head.append(cell); });
  for (const row of rows) {
    const line = element("tr", undefined, row.sure === false ? "unsure" : "");
    row.cells.forEach((text, k) => {
      const cell = element("td", k || !row.pick ? text : undefined, k ? "n" : "");
      if (!k && row.pick) { const button = element("button", text, "pick"); button.type = "button"; button.addEventListener("click", row.pick); cell.append(button); line.addEventListener("click", (e) => { if (e.target !== button) row.pick(); }); line.classList.add("can"); }
      line.append(cell);
    });
    body.append(line);
  }
  return holder;
}
const shownWord = drawn ? "estimate" : "workers";
const counted = (number, word) => `${whole(number)} ${word}${number === 1 ? "" : "s"}`;
const withInterval = knowsErrors ? ["95 % interval"] : [];
const cellsOf = (it) => knowsErrors ? [figure(it), it.exact ? "exact" : it.text] : [figure(it)];

const SIDES = { work: "of those who work here", home: "of those who live here" };
const analyses = {
  profile(target, block) {
    const found = profileOf(block.set, block.selection), factor = state.unit === "mi" ? KM_PER_MILE ** 2 : 1, unit = state.unit === "mi" ? "square miles" : "km²";
    const balance = found.residents.value ? (found.jobs / found.residents.value).toFixed(2) : "–", row = (text, value, note = "") => ({ cells: [text, value, ...(knowsErrors ? [note] : [])] });
    target.append(table("At work and at home", ["", "number", ...withInterval], [
      row("jobs here", whole(found.jobs), "public total"), { cells: ["workers who live here", ...cellsOf(found.residents)], sure: found.residents.sure },
      row("jobs per resident worker", balance), ...(facts.schematic ? [] : [row(unit, (found.km2 / factor).toFixed(1)), row(`jobs per ${unit.replace("miles", "mile")}`, whole(found.jobs / found.km2 * factor))]),
    ]));
    if (block.set.name === "synthetic") for (const it of found.groups) { target.append(element("h4", `${it.name} ${SIDES[it.side]}`), barChart(it.groups, it.found, it.groups.map((g, k) => `${g} ${whole(it.found.value[k])}`).join(", "))); }
    if (!facts.characteristics) target.append(element("p", "This release holds no characteristics of workers.", "note"));
  },
  balance(target, block) {
    const found = balanceOf(block.set, block.selection), jobs = found.comeIn.value + found.stay.value, homes = found.goOut.value + found.stay.value;
    target.append(balanceChart(found, block.selection.label), table("Inflow and outflow", ["", shownWord, ...withInterval, "share"], [
      { cells: ["work here, live elsewhere", ...cellsOf(found.comeIn), share(found.comeIn.value, jobs)], sure: found.comeIn.sure },
      { cells: ["live and work here", ...cellsOf(found.stay), share(found.stay.value, jobs)], sure: found.stay.sure },
      { cells: ["live here, work elsewhere", ...cellsOf(found.goOut), share(found.goOut.value, homes)], sure: found.goOut.sure },
    ]), element("p", "Shares of the first two lines are of the jobs here; that of the last is of the workers who live here.", "note"));
  },
  distance(target, block) {
    if (facts.schematic) { target.append(element("p", "The places came without coordinates, so there are no distances and directions.", "note")); return; }
    const found = distancesOf(block.set, block.selection), unit = state.unit === "mi" ? "miles" : "km", all = found.bands.value.reduce((a, b) => a + b, 0);
    target.append(element("p", `${found.mean.toFixed(1)} ${unit} on average, from middle to middle as the crow flies. Directions are ${state.direction === "to" ? "from the workplace to the home" : "from the home to the workplace"}.`), roseChart(found), histogram(found));
    const rows = (merged, label, n) => Array.from({ length: n }, (_, k) => ({ ...one(merged, k), k })).map((it) => ({ cells: [label(it.k), ...cellsOf(it), share(it.value, all)], sure: it.sure }));
    target.append(table("By distance", [unit, shownWord, ...withInterval, "share"], rows(found.bands, (k) => bandText(found.edges, k), 4)), table("By direction", ["direction", shownWord, ...withInterval, "share"], rows(found.directions, (k) => WINDS[k], 8)));
  },
  ranking(target, block) {
    const found = rankingOf(block.set, block.selection), most = state.long ? 200 : 10;
    const rows = found.rows.slice(0, most).map((it) => ({ cells: [titled(found.level, it.area) + (found.level === placeLevel && within(found.level, it.area) ? `, ${within(found.level, it.area)}` : ""), ...cellsOf(it), share(it.value, found.all)], sure: it.sure, pick: () => select(areaText(found.level, [it.area]), true) }));
    target.append(table(state.direction === "to" ? `Homes by ${found.level.name}` : `Workplaces by ${found.level.name}`, [found.level.name, shownWord, ...withInterval, "share"], rows));
    if (found.rows.length > most || state.long) { const more = element("button", state.long ? "fewer" : `${whole(found.rows.length - most)} more`); more.type = "button"; more.addEventListener("click", () => { state.long = !state.long; tell(); }); target.append(more); }
    if (found.hiddenAreas) target.append(element("p", `${counted(found.hiddenAreas, "further area")} with ${counted(found.hidden, "synthetic worker")} ${found.hiddenAreas === 1 ? "is" : "are"} not listed: ${found.unknown ? "this is finer than what was measured. Choose larger areas, or let what is uncertain be shown" : (found.hiddenAreas === 1 ? "its interval includes 0" : "their intervals include 0")}.`, "note"));
  },
};
function tell() {
  const panel = byId("panel"), list = blocks();
  document.querySelectorAll("[role=tab]").forEach((tab) => { const on = tab.dataset.tab === state.tab; tab.setAttribute("aria-selected", String(on)); tab.tabIndex = on ? 0 : -1; if (on) panel.setAttribute("aria-labelledby", tab.id); });
  byId("chosen").textContent = state.a ? state.a.label + (state.b ? `, compared with ${state.b.label}` : "") : "Nothing selected";
  byId("summary").textContent = state.a ? list.map(summaryOf).join(" ") : "The map shows where the jobs are. Select an area to see who works and lives there.";
  byId("compare").disabled = !state.a;
  byId("compare").setAttribute("aria-pressed", String(state.picking === "b"));
  byId("trust").textContent = trustText();
  panel.replaceChildren();
  if (!state.a) { panel.append(...startPanel()); return; }
  if (state.tab === "ranking") panel.append(levelChoice());
  for (const block of list) { const part = element("section", undefined, block.set.name); if (list.length > 1) part.append(element("h3", blockTitle(block))); analyses[state.tab](part, block); panel.append(part); }
}
function summaryOf({ selection, set }) {
  const here = state.direction === "to", workers = here ? sumOf(set.jobs, selection.mask) : residentsOf(set, selection.mask).value, name = facts.sets.original ? `${labelOf[set.name]} ` : "synthetic ";
  return `${whole(workers)} ${name}workers ${here ? "work" : "live"} in ${selection.label}.`;
}
function startPanel() {
  const level = rankingLevel(), set = sets[shown()[0]], jobs = summed(level, set.jobs), order = Array.from(jobs.keys()).sort((x, y) => jobs[y] - jobs[x]).slice(0, 10), all = jobs.reduce((a, b) => a + b, 0);
  return [table(`Jobs by ${level.name}, ${facts.sets.original ? labelOf[set.name] : "public totals"}`, [level.name, "jobs", "share"], order.map((a) => ({ cells: [titled(level, a), whole(jobs[a]), share(jobs[a], all)], pick: () => select(areaText(level, [a]), true) })))];
}
function levelChoice() {
  const label = element("label", "by "), choice = element("select"); choice.id = "by";
  for (const level of levels) { const option = element("option", level.name); option.selected = level === rankingLevel(); choice.append(option); }
  choice.addEventListener("change", () => { state.by = choice.value; tell(); remember(); byId("by").focus(); });
  label.append(choice); return label;
}
function trustText() {
  if (!knowsErrors) return "This kind of release comes with no intervals. Read large areas, not single places.";
  const how = drawn ? "the numbers of virtual and of synthetic workers, which are public" : "the noise that was added, whose size is public";
  return `${drawn ? "Numbers are estimates: synthetic workers, without the virtual ones that were added to protect the real ones. " : ""}Each has a 95 % interval for the real number, computed from ${how}. A flow whose interval includes 0 is not shown unless you ask for it.`;
}
function tellKey(level, layer, edges, colours, visible, sure, numbers) {
  const key = byId("key"); key.replaceChildren(element("strong", `${layer.words}, by ${level.name}`));
  const row = (colour, text, cls = "") => { const line = element("span", undefined, "line"), swatch = element("span", undefined, `swatch ${cls}`); if (colour) swatch.style.background = colour; line.append(swatch, text); key.append(line); };
  const edgeText = (v) => v >= 10 ? whole(v) : String(v);
  for (let k = edges.length; k >= 0; k--) row(colours[k], k === 0 ? (edges.length ? `below ${edgeText(edges[0])}` : "some") : k === edges.length ? `${edgeText(edges[k - 1])} and more` : `${edgeText(edges[k - 1])} to ${edgeText(edges[k])}`);
  const unsure = visible.filter((a) => numbers[a] > 0 && !sure(a)).length;
  if (unsure) row("", `${whole(unsure)} ${state.unsure ? "uncertain" : "not shown"}: ${layer.low ? "interval includes 0" : "finer than what was measured"}`, state.unsure ? "doubt" : "blank");
}
function tooltip(set, level, area) {
  const lines = [titled(level, area) + (within(level, area) ? `, ${within(level, area)}` : "")], homes = one(valuesOf(set, level, "homes"), area);
  lines.push(`${whole(valuesOf(set, level, "jobs").value[area])} jobs; ${homes.sure || state.unsure ? `${whole(homes.value)}${homes.text ? ` (${homes.text})` : ""}` : "an uncertain number of"} workers live there`);
  if (state.a) { const it = one(flowsAt(set, level), area), end = `${state.direction === "to" ? "live there and work" : "work there and live"} in ${state.a.label}`; lines.push(!it.value ? `nobody seems to ${end}` : it.sure || state.unsure ? `${whole(it.value)} ${end}${it.text ? ` (${it.text})` : ""}` : "the flow is too uncertain to be shown"); }
  return lines;
}
