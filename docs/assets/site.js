// What scrolls sideways can be reached and moved by the keyboard; what fits is no extra stop.
function markScrolling() {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap, .formula")) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
    else region.removeAttribute("tabindex");
  }
}
addEventListener("load", () => {
  markScrolling();
  // The theme puts every copy button into a landmark without a name.
  for (const landmark of document.querySelectorAll(".md-code__nav")) landmark.setAttribute("role", "none");
});
addEventListener("resize", markScrolling);
