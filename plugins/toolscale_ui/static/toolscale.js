"use strict";
// The look of the page around us, before anything is painted.
const NAMES = [
  "bg", "bg-muted", "bg-emphasized", "bg-warning", "fg", "fg-muted", "fg-info", "fg-error", "border", "border-emphasized",
  "border-warning", "red-subtle", "red-fg", "green-subtle", "green-fg", "blue-solid",
];
const root = document.documentElement;
root.classList.add("scripted");
const around = (() => {
  try {
    return window.parent !== window && window.parent.document ? window.parent : null;
  } catch {
    return null; // another origin
  }
})();

function follow() {
  const outer = around.document.documentElement;
  const dark = outer.classList.contains("dark");
  if (dark || outer.classList.contains("light")) root.dataset.theme = dark ? "dark" : "light";
  const style = around.getComputedStyle(outer);
  for (const name of NAMES) {
    const value = style.getPropertyValue(`--chakra-colors-${name}`).trim();
    if (value) root.style.setProperty(`--${name}`, value);
  }
}

if (around) {
  follow();
  const observer = new around.MutationObserver(follow);
  observer.observe(around.document.documentElement, { attributes: true, attributeFilter: ["class", "style"] });
  window.addEventListener("pagehide", () => observer.disconnect());
}

// A sandboxed frame may not navigate its parent, so Airflow's own router is told where to go.
function leave(link) {
  const to = new URL(link.href);
  around.history.pushState({}, "", to.pathname + to.search);
  around.dispatchEvent(new around.PopStateEvent("popstate"));
}

// Nor may it open anything: the page around us opens other people's pages.
function visit(link) {
  const outer = around.document.createElement("a");
  Object.assign(outer, { href: link.href, target: "_blank", rel: "noopener noreferrer" });
  around.document.body.append(outer);
  outer.click();
  outer.remove();
}

function clicked(event) {
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const link = event.target.closest("a");
  if (link && "airflow" in link.dataset && around && plain) {
    event.preventDefault();
    return leave(link);
  }
  if (link && around && plain && link.origin !== location.origin) {
    event.preventDefault();
    return visit(link);
  }
  const button = event.target.closest("button[data-copy]");
  if (button) return copy(button);
  const row = event.target.closest("tr[data-href]");
  if (row && !link && plain && !window.getSelection().toString()) row.querySelector("a.row").click();
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    // Without the permission, or on plain http: as people did it before.
    window.getSelection().selectAllChildren(source);
    document.execCommand("copy");
    window.getSelection().removeAllRanges();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

function filtered(event) {
  const form = event.target.closest("form.filters");
  if (!form) return;
  for (const field of form.elements) if (!field.value) field.disabled = true; // an address holds what was chosen
  form.submit();
}

document.addEventListener("click", clicked);
document.addEventListener("change", filtered);
// A page that comes back from the history has its filters as they were sent.
window.addEventListener("pageshow", () => document.querySelectorAll(".filters [disabled]").forEach((field) => (field.disabled = false)));
