document.documentElement.classList.add("js");
// The theme that a person has chosen, before the page is drawn.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is switched off: the theme of the system */ }
