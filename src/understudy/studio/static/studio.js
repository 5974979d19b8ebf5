// Small conveniences; every screen works without them.
"use strict";
document.documentElement.dataset.ready = "true";
// A button that sends a form is not pressed twice.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || event.defaultPrevented) return;
  setTimeout(() => { button.disabled = true; button.setAttribute("aria-busy", "true"); }, 0);
});
window.addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[aria-busy]")) { button.disabled = false; button.removeAttribute("aria-busy"); }
});
// A list of many lines is searched by their words.
document.addEventListener("input", (event) => {
  const target = event.target.dataset ? event.target.dataset.filters : "";
  if (!target) return;
  const words = event.target.value.toLowerCase();
  for (const line of document.querySelectorAll(target)) line.hidden = !line.textContent.toLowerCase().includes(words);
});
// Only the fields of the chosen kind are shown.
for (const form of document.querySelectorAll("form[data-kinds]")) {
  const show = () => {
    const kind = form.elements.kind.value;
    for (const field of form.querySelectorAll("[data-for]")) field.hidden = !field.dataset.for.split(" ").includes(kind);
    for (const field of form.querySelectorAll("[data-not]")) field.hidden = field.dataset.not === kind;
  };
  form.elements.kind.addEventListener("change", show);
  show();
}
// A field that one answer of a question needs: the browser asks for it before anything is sent.
for (const field of document.querySelectorAll("[data-needed-by]")) {
  const [name, value] = field.dataset.neededBy.split("=");
  const set = () => { field.required = field.form.elements[name].value === value; };
  field.form.addEventListener("change", set);
  set();
}
// Fields that belong to one of several radio buttons are shown with it.
for (const part of document.querySelectorAll("[data-with]")) {
  const [name, value] = part.dataset.with.split("="), form = part.closest("form");
  const set = () => { part.hidden = form.elements[name].value !== value; };
  form.addEventListener("change", set);
  set();
}
// A field that belongs to one answer of a list is shown with that answer.
for (const field of document.querySelectorAll("[data-shown-by]")) {
  const place = field.dataset.shownBy.indexOf("=");
  const list = field.form.elements[field.dataset.shownBy.slice(0, place)], value = field.dataset.shownBy.slice(place + 1);
  const set = () => { field.hidden = list.value !== value; field.required = list.value === value; };
  list.addEventListener("change", set);
  set();
}
