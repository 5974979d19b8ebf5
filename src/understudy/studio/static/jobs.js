"use strict";
// A slider shows its value while it moves.
document.addEventListener("input", (event) => {
  const shown = event.target.dataset && event.target.dataset.shows ? document.querySelector(event.target.dataset.shows) : null;
  if (shown) shown.textContent = event.target.value;
});
// What was opened stays open when the price moves with the slider.
let opened = [];
const foldable = (event) => [...event.detail.target.querySelectorAll("details")];
const headed = (part) => part.querySelector("summary").textContent;
document.addEventListener("htmx:beforeSwap", (event) => { opened = foldable(event).filter((part) => part.open).map(headed); });
document.addEventListener("htmx:afterSwap", (event) => {
  for (const part of foldable(event)) part.open = part.open || opened.includes(headed(part));
});
