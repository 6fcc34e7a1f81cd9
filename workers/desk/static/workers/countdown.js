// Keeps the clocks of a page running.  An element <time datetime="…" data-left="%s left"
// data-over="%s overdue"> shows the time until its instant, or since; one with data-age shows
// how long ago it was.  The clock is the server's.
(() => {
  "use strict";
  // Milliseconds the server's clock is ahead of the visitor's.
  let skew = 0;

  const begin = () => {
    const stamp = document.querySelector("[data-server-now]");
    if (!stamp) return;
    // The page was written when its first byte came, not when this script runs.
    const [navigation] = performance.getEntriesByType("navigation");
    const at = performance.timeOrigin + (navigation ? navigation.responseStart : performance.now());
    skew = Date.parse(stamp.dataset.serverNow) - at;
  };

  // As workers.desk.admin.badges.duration() writes it.
  const duration = (seconds) => {
    const two = (number) => String(number).padStart(2, "0");
    const whole = Math.round(seconds);
    const minutes = Math.floor(whole / 60);
    if (minutes === 0) return `${whole} s`;
    if (minutes < 60) return `${minutes} min ${two(whole % 60)} s`;
    const hours = Math.floor(minutes / 60);
    if (hours < 24) return `${hours} h ${two(minutes % 60)} min`;
    return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
  };

  // As workers.desk.admin.badges.span() writes it.
  const span = (seconds) => {
    const whole = Math.max(Math.round(seconds), 0);
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
      if (whole >= size) return `${Math.floor(whole / size)} ${unit}`;
    }
    return `${whole} s`;
  };

  const tick = () => {
    const now = Date.now() + skew;
    for (const element of document.querySelectorAll("time[data-left]")) {
      const left = (Date.parse(element.dateTime) - now) / 1000;
      const { left: before, over: after } = element.dataset;
      const text = (left > 0 ? before : after).replace("%s", duration(Math.abs(left)));
      if (element.textContent !== text) element.textContent = text;
      // Most instants may pass: only those that something should have kept are an alarm.
      element.classList.toggle("sas-over", "alarm" in element.dataset && left <= 0);
    }
    for (const element of document.querySelectorAll("time[data-age]")) {
      const text = span((now - Date.parse(element.dateTime)) / 1000);
      if (element.textContent !== text) element.textContent = text;
    }
  };

  document.addEventListener("htmx:afterRequest", (event) => {
    const stamp = event.detail.xhr.getResponseHeader("X-Server-Now");
    if (stamp) skew = Date.parse(stamp) - Date.now();
    tick();
  });
  begin();
  tick();
  setInterval(tick, 500);
})();
