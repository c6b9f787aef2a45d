"use strict";
// Choosing an option opens the page that has it chosen; place and focus stay where they were.
const KEPT = "webshop-place";

document.addEventListener("change", (event) => {
  const { id, dataset } = event.target;
  if (dataset.url === undefined) return;
  sessionStorage.setItem(KEPT, JSON.stringify({ id, top: window.scrollY }));
  window.location.assign(dataset.url);
});

document.addEventListener("DOMContentLoaded", () => {
  const kept = sessionStorage.getItem(KEPT);
  if (kept === null) return;
  sessionStorage.removeItem(KEPT);
  const { id, top } = JSON.parse(kept);
  const chosen = document.getElementById(id);
  if (chosen === null) return;
  chosen.focus({ preventScroll: true });
  window.scrollTo(0, top);
});
