"use strict";
(function () {
  const { make, number, amount, interval, call, fault, table, words } = Asking;
  const at = (id) => document.getElementById(id);

  async function load() {
    const { said, problem } = await call("GET", "/v1/review");
    if (problem) return fault(at("said"), problem);
    const several = said.questions.length === 1 ? "question waits" : "questions wait";
    at("said").replaceChildren(make("p", said.questions.length + " " + several + ".", "status"));
    at("queue").replaceChildren(...said.questions.map(card));
  }
  function card(line) {
    const box = make("section"), title = make("h2", line.question);
    title.id = "title-" + line.id;
    box.setAttribute("aria-labelledby", title.id);
    const facts = make("p", line.data + ", project " + line.project + ", asked " + line.asked.slice(0, 16).replace("T", " ") + ". Price: " + amount(line.price) + ".");
    box.append(title, facts);
    if (line.words) box.append(make("p", line.words));
    if (line.synthetic.length) {
      const rows = line.synthetic.map((figure) => [figure.name, number(figure.estimate), interval(figure)]);
      box.append(table(["Figure", "Release", "Interval"], rows, "What the release says"));
      box.append(...words(line.synthetic).map((text) => make("p", text, "hint")));
    }
    const label = make("label", "Why, where you decline"), why = make("textarea"), row = make("div", undefined, "buttons");
    why.id = "why-" + line.id;
    why.rows = 2;
    label.htmlFor = why.id;
    const approve = make("button", "Approve", "main"), decline = make("button", "Decline");
    for (const [button, what, body] of [[approve, "approve", () => ({})], [decline, "decline", () => ({ words: why.value })]]) {
      button.type = "button";
      button.setAttribute("aria-describedby", title.id);
      button.addEventListener("click", async () => {
        button.disabled = true;
        const { said, problem } = await call("POST", "/v1/review/" + encodeURIComponent(line.id) + "/" + what, body());
        button.disabled = false;
        if (problem) return fault(result, problem);
        box.replaceChildren(title, make("p", said.status + (said.words ? ": " + said.words : "."), "status"));
      });
      row.append(button);
    }
    const result = make("div", undefined, "result");
    result.setAttribute("role", "status");
    box.append(label, why, row, result);
    return box;
  }
  at("load").addEventListener("click", load);
  document.documentElement.dataset.ready = "true";
})();
