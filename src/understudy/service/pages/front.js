"use strict";
(function () {
  const models = new Map(JSON.parse(document.getElementById("data").textContent).models.map((m) => [m.card.name, m]));
  const keyField = document.getElementById("key");
  keyField.form.addEventListener("submit", (event) => event.preventDefault());
  const SVG = "http://www.w3.org/2000/svg";

  function make(tag, text, className) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }
  function draw(tag, attributes, text) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }
  const percent = (share) => (100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0) + " %";
  const number = (value) => Number(value.toPrecision(6)).toString();

  function scale(answer, width) {
    const x = (share) => 2 + (width - 4) * share;
    const words = "Score " + percent(answer.score) + ", noise band " + percent(answer.low) + " to " + percent(answer.high);
    const svg = draw("svg", { class: "scale", viewBox: "0 0 " + width + " 58", width, height: 58, role: "img", "aria-label": words });
    svg.append(
      draw("rect", { class: "track", x: x(0), y: 20, width: width - 4, height: 12, rx: 6 }),
      draw("rect", { class: "noise", x: x(answer.low), y: 16, width: Math.max(2, x(answer.high) - x(answer.low)), height: 20, rx: 4 }),
      draw("rect", { class: "mark", x: x(answer.score) - 2, y: 10, width: 4, height: 32 })
    );
    for (const at of [0, 0.25, 0.5, 0.75, 1]) {
      const anchor = at === 0 ? "start" : at === 1 ? "end" : "middle";
      svg.append(draw("text", { x: x(at), y: 55, "text-anchor": anchor }, 100 * at + " %"));
    }
    return svg;
  }

  function showAnswer(box, model, answer) {
    const figure = make("p", percent(answer.score), "score");
    figure.append(" ", make("small", "chance that " + model.card.target + " is “" + model.card.positive + "”"));
    const band = "Privacy noise alone could have moved it between " + percent(answer.low) + " and " + percent(answer.high) + ". The band is not about how sure the prediction is.";
    let cost = "This answer cost nothing: it is worked out from numbers that were released once.";
    if (!model.card.privacy.is_formal) {
      cost = "This model has no formal guarantee: what its answers give away is not counted.";
    } else if (model.card.calls.price_epsilon !== null) {
      cost = answer.cost.epsilon > 0
        ? "This answer cost epsilon " + number(answer.cost.epsilon) + " of the training data’s privacy."
        : "You asked this before: the stored answer, at no new cost.";
      if (answer.cost.remaining) {
        cost += " Left: epsilon " + number(answer.cost.remaining.key) + " for this key, " + number(answer.cost.remaining.model) + " for all keys together.";
      }
    }
    box.replaceChildren(figure, scale(answer, Math.max(200, Math.min(620, box.parentNode.clientWidth))), make("p", band), make("p", cost));
  }

  function showFault(box, problem) {
    const fault = make("div", undefined, "fault");
    fault.append(make("strong", problem.title), make("p", problem.detail));
    if (problem.request_id) fault.append(make("span", "Request " + problem.request_id, "hint"));
    box.replaceChildren(fault);
  }

  function markInvalid(form, name) {
    for (const field of form.querySelectorAll("[data-feature]")) {
      const wrong = field.dataset.feature === name;
      field.setAttribute("aria-invalid", wrong ? "true" : "false");
      if (wrong) field.focus();
    }
  }

  async function ask(form, model) {
    const box = form.querySelector(".result");
    const button = form.querySelector("button.main");
    const features = {};
    for (const field of form.querySelectorAll("[data-feature]")) {
      if (field.value !== "") features[field.dataset.feature] = field.value;
    }
    markInvalid(form, null);
    button.disabled = true;
    try {
      const reply = await fetch("/v1/models/" + encodeURIComponent(model.card.name) + "/score", {
        method: "POST",
        credentials: "omit",
        headers: { "Content-Type": "application/json", Authorization: "Bearer " + keyField.value.trim() },
        body: JSON.stringify(features),
      });
      const said = await reply.json();
      if (reply.ok) showAnswer(box, model, said);
      else {
        showFault(box, said);
        if (said.feature) markInvalid(form, said.feature);
        if (reply.status === 401) keyField.focus();
      }
    } catch {
      showFault(box, { title: "No answer", detail: "The server did not answer; try again in a moment." });
    } finally {
      button.disabled = false;
    }
  }

  for (const form of document.querySelectorAll("form[data-model]")) {
    const model = models.get(form.dataset.model);
    form.addEventListener("submit", (event) => { event.preventDefault(); ask(form, model); });
    form.querySelector("[data-example]").addEventListener("click", () => {
      for (const field of form.querySelectorAll("[data-feature]")) field.value = model.example[field.dataset.feature];
      markInvalid(form, null);
    });
  }
  document.documentElement.dataset.ready = "true";
})();
