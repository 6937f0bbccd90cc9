// Changes: a slider under each pair wipes between the picture before and the one after.
const content = document.getElementById("content");

function wipe(slider) {
  slider.closest(".change").style.setProperty("--wipe", `${slider.value}%`);
}

content.addEventListener("input", (event) => { if (event.target.type === "range") wipe(event.target); });

function drag(event) {
  const box = event.target.closest?.("[data-wipe]");
  if (!box || (event.type === "pointermove" && !(event.buttons & 1))) return;
  const at = box.getBoundingClientRect();
  const slider = box.parentElement.querySelector("input[type=range]");
  slider.value = Math.round(100 * Math.min(1, Math.max(0, (event.clientX - at.left) / at.width)));
  wipe(slider);
}

content.addEventListener("pointerdown", drag);
content.addEventListener("pointermove", drag);
content.addEventListener("dragstart", (event) => { if (event.target.closest("[data-wipe]")) event.preventDefault(); });
