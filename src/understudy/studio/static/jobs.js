"use strict";
// A slider shows its value while it moves.
document.addEventListener("input", (event) => {
  const shown = event.target.dataset && event.target.dataset.shows ? document.querySelector(event.target.dataset.shows) : null;
  if (shown) shown.textContent = event.target.value;
});
