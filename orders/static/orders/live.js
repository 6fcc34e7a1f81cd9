// Keeps an order's page honest between two polls: counts down what the server marked up (of the
// visitor's clock only the pace is trusted), and says when the shop cannot be reached.
(() => {
  "use strict";
  const seen = new WeakMap();

  // As orders.tracking.duration() writes it.
  const duration = (seconds) => {
    const whole = Math.max(Math.round(seconds), 0);
    const minutes = Math.floor(whole / 60);
    const two = (number) => String(number).padStart(2, "0");
    if (minutes === 0) return `${whole} s`;
    if (minutes < 60) return `${minutes} min ${two(whole % 60)} s`;
    return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  };

  const tick = () => {
    const now = performance.now();
    for (const element of document.querySelectorAll("[data-remaining]")) {
      if (!seen.has(element)) seen.set(element, now);
      const left = Number(element.dataset.remaining) - (now - seen.get(element)) / 1000;
      if (element instanceof HTMLProgressElement) {
        element.value = Math.max(left, 0);
        continue;
      }
      const { text, over } = element.dataset;
      const shown = left > 0.5 ? text.replace("%s", duration(left)) : over;
      if (element.textContent !== shown) element.textContent = shown;
    }
  };

  tick();
  setInterval(tick, 250);
  document.addEventListener("htmx:afterSettle", tick);
  document.addEventListener("htmx:afterRequest", (event) => {
    document.getElementById("offline").hidden = event.detail.successful;
  });
})();
