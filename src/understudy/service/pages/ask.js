"use strict";
(function () {
  const { make, number, amount, interval, call, fault, table, beside, picture, promise, words } = Asking;
  const at = (id) => document.getElementById(id);
  const path = (what) => "/v1/data/" + encodeURIComponent(at("set").value) + "/" + what;
  const send = at("send");
  let quoted = null, waiting = null;

  const asked = () => ({ question: at("question").value, target: at("target").value });
  function terms() {
    const chosen = { ...asked(), epsilon: Number(at("epsilon").value.trim()) };
    if (at("delta").value.trim()) chosen.delta = Number(at("delta").value.trim());
    return chosen;
  }
  function stale() {
    quoted = null;
    send.disabled = true;
  }
  async function busy(button, work) {
    button.disabled = true;
    try {
      await work();
    } finally {
      button.disabled = false;
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
    asked: "A steward decides about it. Nothing is charged while it waits.",
    declined: "The rules do not allow it.",
  };
  async function quote() {
    const box = at("quoted"), chosen = terms();
    const { said, problem } = await call("POST", path("quote"), chosen);
    if (problem) return fault(box, problem);
    const price = make("p", "Price: " + amount(said.price), "score");
    box.replaceChildren(price, make("p", [VERDICT[said.review], said.words].filter(Boolean).join(" ")), ...said.notes.map((text) => make("p", text, "hint")), promise(said.statement));
    const found = await call("GET", path("").slice(0, -1));
    if (found.said && found.said.budget) {
      const left = found.said.budget.remaining;
      box.append(make("p", "Left: " + amount(left.key) + " for your key, " + amount(left.project) + " for the project " + found.said.budget.project + ", " + amount(left.data) + " for all projects.", "hint"));
    }
    quoted = JSON.stringify(chosen);
    send.disabled = said.review === "declined";
  }

  function show(record) {
    const box = at("answer");
    clearTimeout(waiting);
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
      parts.push(make("p", record.charged ? "It cost " + amount(record.price) + "." : "A stored answer, at no new cost."));
    }
    const cite = make("p", "Id " + record.id + ". ", "hint");
    if (record.page) {
      const link = make("a", "Public page, to cite");
      link.href = record.page;
      cite.append(link);
    }
    parts.push(cite);
    box.replaceChildren(...parts);
    if (record.status === "asked" || record.status === "approved") waiting = setTimeout(() => follow(record), 2000);
  }
  /* What a steward has approved is sent again, which pays for it and draws it: that is what the analyst asked for. */
  async function follow(record) {
    const body = { question: record.question, ...record.terms };
    if (body.delta === null) delete body.delta;
    const { said, problem } = record.status === "approved"
      ? await call("POST", "/v1/data/" + encodeURIComponent(record.data) + "/answer", body)
      : await call("GET", "/v1/answers/" + encodeURIComponent(record.id));
    if (problem) return fault(at("answer"), problem);
    show(said);
  }
  async function submit() {
    if (quoted !== JSON.stringify(terms())) return stale();
    const { said, problem } = await call("POST", path("answer"), terms());
    if (problem) return fault(at("answer"), problem);
    show(said);
  }
  async function lookUp() {
    const { said, problem } = await call("GET", "/v1/answers/" + encodeURIComponent(at("lookup").value.trim()));
    if (problem) return fault(at("answer"), problem);
    show(said);
  }

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
