"use strict";
(function () {
  const { make, number, amount, interval, call, fault, table, beside, picture, promise, words } = Asking;
  const at = (id) => document.getElementById(id);
  const path = (what) => "/v1/data/" + encodeURIComponent(at("set").value) + "/" + what;
  const send = at("send");
  let quoted = null, waiting = null, turn = 0;
  const ours = new Set(); // questions that were sent from this page and wait for a steward
  const charged = new Set(); // those that a request of this page paid for, though it may not have brought the answer

  const asked = () => ({ question: at("question").value, target: at("target").value });
  function terms() {
    const chosen = { ...asked(), epsilon: Number(at("epsilon").value.trim()) };
    if (at("delta").value.trim()) chosen.delta = Number(at("delta").value.trim());
    return chosen;
  }
  const choice = () => JSON.stringify([at("set").value, terms()]);
  /* A price is of one choice: once that changes, it is not shown any more, and nothing can be sent for it. */
  function stale() {
    quoted = null;
    send.disabled = true;
    at("quoted").replaceChildren();
  }
  async function busy(button, work) {
    button.disabled = true;
    try {
      await work();
    } finally {
      button.disabled = button === send && quoted === null;
    }
  }
  const wide = (box) => Math.max(240, Math.min(640, box.parentNode.clientWidth));

  async function tryOut() {
    const box = at("tried");
    const { said, problem } = await call("POST", path("try"), asked());
    if (problem) return fault(box, problem);
    const rows = said.figures.map((figure) => [figure.name, number(figure.estimate), interval(figure)]);
    box.replaceChildren(
      make("p", "On the release, free:"),
      table(["Figure", "Release", "Interval"], rows, said.question),
      ...words(said.figures).map((text) => make("p", text, "hint"))
    );
  }

  const VERDICT = {
    approved: "The rules let it through: it is answered as soon as you send it.",
    asked: "A steward decides about it. Nothing is charged while it waits; once it is approved, this page sends it again, which pays.",
    declined: "The rules do not allow it.",
  };
  async function quote() {
    const box = at("quoted"), chosen = choice(), home = path("").slice(0, -1);
    const { said, problem } = await call("POST", path("quote"), terms());
    if (chosen !== choice()) return;
    if (problem) return fault(box, problem);
    const price = make("p", "Price: " + amount(said.price), "score");
    box.replaceChildren(price, make("p", [VERDICT[said.review], said.words].filter(Boolean).join(" ")), ...said.notes.map((text) => make("p", text, "hint")), promise(said.statement));
    const found = await call("GET", home);
    if (chosen !== choice()) return;
    if (found.said && found.said.budget) {
      const left = found.said.budget.remaining;
      box.append(make("p", "Left: " + amount(left.key) + " for your key, " + amount(left.project) + " for the project " + found.said.budget.project + ", " + amount(left.data) + " for all projects.", "hint"));
    }
    quoted = said.review === "declined" ? null : chosen;
    send.disabled = quoted === null;
  }

  function show(record) {
    const box = at("answer");
    const mine = forget();
    const heading = make("p", record.question + ": " + record.status, "status");
    const parts = [heading];
    if (record.words) parts.push(make("p", record.words));
    if (record.answer) {
      const pairs = beside(record.answer.figures, record.synthetic);
      const rows = pairs.map(([figure, other]) => [
        figure.name, number(figure.estimate), interval(figure), other ? number(other.estimate) : "–", interval(other),
        figure.gap === undefined || figure.gap === null ? "–" : number(figure.gap),
      ]);
      const drawn = picture(pairs, wide(box));
      if (drawn) parts.push(drawn);
      parts.push(table(["Figure", "Answer", "Interval", "Release", "Interval", "Answer − release"], rows, "Real data beside the release"));
      parts.push(...words(record.answer.figures).map((text) => make("p", text, "hint")));
      parts.push(promise(record.answer.statement));
      parts.push(make("p", charged.has(record.id) ? "It cost " + amount(record.price) + "." : "A stored answer, at no new cost."));
    }
    if (record.paid > 1) parts.push(make("p", "It was paid for " + record.paid + " times, because an answer was lost before it was stored."));
    const cite = make("p", "Id " + record.id + ". ", "hint");
    if (record.page) {
      const link = make("a", "Public page, to cite");
      link.href = record.page;
      cite.append(link);
    }
    parts.push(cite);
    const unpaid = record.status === "approved" && record.paid === 0;
    if (unpaid && !ours.has(record.id)) parts.push(sending(record));
    box.replaceChildren(...parts);
    if (record.status === "asked" || (record.status === "approved" && !(unpaid && !ours.has(record.id)))) wait(record, mine);
  }
  /* Whatever was shown is not followed any more; the number of what is shown instead. */
  function forget() {
    clearTimeout(waiting);
    turn += 1;
    return turn;
  }
  function wait(record, mine) {
    waiting = setTimeout(() => follow(record, mine), 2000);
  }
  async function paying(where, body) {
    const { said, problem } = await call("POST", where, body);
    if (said && said.charged) charged.add(said.id);
    if (said && said.status === "asked") ours.add(said.id);
    return { said, problem };
  }
  function again(record) {
    const body = { question: record.question, ...record.terms };
    if (body.delta === null) delete body.delta;
    return paying("/v1/data/" + encodeURIComponent(record.data) + "/answer", body);
  }
  /* An approved question that was looked up: to see it costs nothing, and to send it is a decision with a price. */
  function sending(record) {
    const button = make("button", "Send it, for " + amount(record.price), "main"), row = make("p", undefined, "buttons");
    button.type = "button";
    button.addEventListener("click", () => busy(button, () => tell(again(record))));
    row.append(button);
    return row;
  }
  async function tell(asking) {
    const mine = forget();
    const { said, problem } = await asking;
    if (mine !== turn) return;
    if (problem) return fault(at("answer"), problem);
    show(said);
  }
  /* What was sent here and approved since is sent again, once, which pays for it: that is what the analyst asked for.
     Everything else is only looked at, so that an answer that was lost is never paid for again by a page left open. */
  async function follow(record, mine) {
    if (record.status === "approved" && ours.delete(record.id) && record.paid === 0) return tell(again(record));
    const { said, problem } = await call("GET", "/v1/answers/" + encodeURIComponent(record.id));
    if (mine !== turn) return;
    if (problem) return fault(at("answer"), problem);
    if (said.status === record.status && said.paid === record.paid) wait(record, mine);
    else show(said);
  }
  const submit = () => (quoted === choice() ? tell(paying(path("answer"), terms())) : stale());
  const lookUp = () => tell(call("GET", "/v1/answers/" + encodeURIComponent(at("lookup").value.trim())));

  function on(form, work) {
    at(form).addEventListener("submit", (event) => {
      event.preventDefault();
      busy(event.submitter || at(form).querySelector("button"), work);
    });
  }
  on("question-form", tryOut);
  on("price-form", quote);
  on("lookup-form", lookUp);
  send.addEventListener("click", () => busy(send, submit));
  for (const id of ["question", "target", "epsilon", "delta", "set"]) at(id).addEventListener("input", stale);
  at("set").addEventListener("change", () => {
    for (const list of document.querySelectorAll("[data-columns]")) list.hidden = list.dataset.columns !== at("set").value;
  });
  document.documentElement.dataset.ready = "true";
})();
