"use strict";
(function () {
  const keyField = document.getElementById("key");
  keyField.form.addEventListener("submit", (event) => event.preventDefault());
  const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

  for (const part of document.querySelectorAll("[data-operation]")) {
    const { method, path, secured } = part.dataset;
    const body = part.querySelector("textarea");
    const choice = part.querySelector("[data-parameter]");
    const curl = part.querySelector("[data-curl]");
    const address = () => (choice ? path.replace("{" + choice.dataset.parameter + "}", encodeURIComponent(choice.value)) : path);

    function tell() {
      const words = ["curl -sS", quoted(location.origin + address())];
      if (secured === "yes") words.push('-H "Authorization: Bearer $KEY"');
      if (body) words.push("-H 'Content-Type: application/json'", "-d " + quoted(body.value));
      curl.textContent = words.join(" \\\n  ");
    }
    if (choice) {
      choice.addEventListener("input", () => {
        const example = [...part.querySelectorAll("template")].find((one) => one.dataset.body === choice.value);
        if (body && example) body.value = example.content.textContent;
        tell();
      });
    }
    if (body) body.addEventListener("input", tell);
    tell();
    part.querySelector("[data-send]").addEventListener("click", async (event) => {
      const box = part.querySelector(".result");
      const headers = {};
      if (secured === "yes") headers.Authorization = "Bearer " + keyField.value.trim();
      if (body) headers["Content-Type"] = "application/json";
      event.target.disabled = true;
      const said = document.createElement("pre");
      said.tabIndex = 0;
      const line = document.createElement("p");
      try {
        const reply = await fetch(address(), { method, headers, credentials: "omit", body: body ? body.value : undefined });
        const text = await reply.text();
        line.textContent = "Status " + reply.status;
        try { said.textContent = JSON.stringify(JSON.parse(text), null, 2); } catch { said.textContent = text; }
      } catch {
        line.textContent = "The server did not answer; try again in a moment.";
      } finally {
        event.target.disabled = false;
      }
      box.replaceChildren(line, said);
    });
  }
  document.documentElement.dataset.ready = "true";
})();
