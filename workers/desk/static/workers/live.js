// Refreshes the live element of a page every few seconds by htmx: never while the tab is hidden,
// something is selected or being filled in, or the reader has paused it.
(() => {
  "use strict";
  const PERIOD = 3000;
  const root = document.querySelector("[data-live]");
  const control = document.querySelector("[data-live-control]");

  // A form that acts is sent once, however often its button is clicked.
  for (const form of document.querySelectorAll("form[data-once]")) {
    let isSent = false;
    form.addEventListener("submit", (event) => {
      if (isSent) event.preventDefault();
      isSent = true;
    });
    window.addEventListener("pageshow", () => { isSent = false; });
  }
  if (!root || !control || !window.htmx) return;

  const word = control.querySelector("[data-live-word]");
  const toggle = control.querySelector("[data-live-toggle]");
  const said = control.querySelector("[data-live-said]");
  const news = control.querySelector("[data-live-news]");
  let isPaused = sessionStorage.getItem("sas-paused") === "yes";
  let isBroken = false;
  let isAsking = false;
  let last = "";
  // What the page shows, as the server names it: a poll asks whether that is still so.
  let seen = control.dataset.seen ?? "";

  const show = () => {
    const { on, off, broken, pause, resume } = control.dataset;
    word.textContent = isPaused ? off : isBroken ? broken : on;
    toggle.textContent = isPaused ? resume : pause;
    control.classList.toggle("sas-paused", isPaused);
    control.classList.toggle("sas-broken", isBroken && !isPaused);
    control.hidden = false;
  };

  const isBusy = () => {
    const chosen = document.getSelection();
    const focused = document.activeElement;
    return (
      document.hidden ||
      document.querySelector("dialog[open], .action-select:checked, #action-toggle:checked") ||
      // Rows that may come and go wait until the pointer has left them.
      root.querySelector("[data-steady] tbody:hover") ||
      (chosen && !chosen.isCollapsed && chosen.containsNode(root, true)) ||
      (root.contains(focused) && focused.matches("select, textarea, input:not([type=checkbox]), [role=dialog] *"))
    );
  };

  // What tells one link or button from another across two versions of a page.
  const keyOf = (element) => {
    const said = ["id", "href", "name", "value"].map((name) => element.getAttribute(name) ?? "");
    return [element.tagName, ...said, element.textContent.trim()].join("\n");
  };
  const alike = (element) =>
    [...root.querySelectorAll(element.tagName)].filter((other) => keyOf(other) === keyOf(element));

  // Whoever is at a link or button stays at it; where it is gone, they stay in the part.
  const keepFocus = () => {
    const focused = document.activeElement;
    if (!focused || !root.contains(focused)) return () => {};
    const place = alike(focused).indexOf(focused);
    return () => {
      if (root.contains(document.activeElement)) return;
      root.tabIndex = -1;
      (alike(focused)[place] ?? root).focus({ preventScroll: true });
    };
  };

  // What is open stays open, and what was scrolled stays scrolled.
  const keep = () => {
    const restoreFocus = keepFocus();
    const open = [...root.querySelectorAll("details[open][id]")].map((element) => element.id);
    const scrolled = [...root.querySelectorAll(".sas-scroll")].map((element) => element.scrollLeft);
    return () => {
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      root.querySelectorAll(".sas-scroll").forEach((element, place) => {
        element.scrollLeft = scrolled[place] ?? 0;
      });
      restoreFocus();
    };
  };

  const sayChange = (before) => {
    const now = root.querySelector("[data-said]")?.dataset.said;
    if (now && before !== now) said.textContent = now;
  };

  const rowsOf = (within) => [...within.querySelectorAll("#result_list > tbody > tr")];

  // What tells rows apart: what is chosen by their boxes, or else the first that they lead to.
  const keysOf = (rows) => {
    const times = new Map();
    return rows.map((row) => {
      const box = row.querySelector(".action-select");
      const key = box ? box.value : row.querySelector("a[href]")?.pathname ?? row.cells[0]?.textContent;
      times.set(key, (times.get(key) ?? 0) + 1);
      return `${key} ${times.get(key)}`;
    });
  };

  const fillRow = (row, fresh) => {
    [...row.cells].forEach((cell, column) => {
      const next = fresh.cells[column];
      if (cell.querySelector(".action-select") || cell.contains(document.activeElement)) return;
      if (cell.innerHTML !== next.innerHTML) cell.innerHTML = next.innerHTML;
    });
  };

  // A row stays the row it is, where it is: whoever is about to click it means that one.  What
  // has come, gone or moved meanwhile is announced, and shown when it is asked for.
  const fillRows = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const [old, rows] = [rowsOf(root), rowsOf(fresh)];
    const [known, keys] = [keysOf(old), keysOf(rows)];
    const found = new Map(keys.map((key, place) => [key, rows[place]]));
    old.forEach((row, place) => {
      const next = found.get(known[place]);
      row.classList.toggle("sas-gone", !next);
      if (next) fillRow(row, next);
    });
    const added = keys.filter((key) => !known.includes(key)).length;
    const isSame = keys.length === known.length && keys.every((key, place) => key === known[place]);
    announce(isSame ? "" : added ? news.dataset.added.replace("%s", added) : news.dataset.changed);
    const [pages, freshPages] = [document, fresh].map((page) => page.querySelector(".paginator"));
    if (pages && freshPages && !pages.contains(document.activeElement)) {
      pages.innerHTML = freshPages.innerHTML;
    }
  };

  const announce = (text) => {
    if (news.textContent === text) return;
    news.textContent = text;
    news.disabled = !text;
    said.textContent = text;
  };

  root.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.elt === root && seen) event.detail.headers["X-Seen"] = seen;
  });
  root.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    const isUnchanged = xhr.status === 204;
    const isOurs = (xhr.status === 200 || isUnchanged) && xhr.getResponseHeader("X-Server-Now");
    isBroken = !isOurs;
    if (!isOurs || isUnchanged || isBusy()) {
      event.detail.shouldSwap = false;
      return;
    }
    seen = xhr.getResponseHeader("X-Seen") ?? "";
    if (xhr.responseText === last) {
      event.detail.shouldSwap = false;
      return;
    }
    last = xhr.responseText;
    if (root.dataset.live === "rows") {
      event.detail.shouldSwap = false;
      fillRows(last);
      return;
    }
    const restore = keep();
    const before = root.querySelector("[data-said]")?.dataset.said;
    root.addEventListener("htmx:afterSwap", () => { restore(); sayChange(before); }, { once: true });
  });
  root.addEventListener("htmx:afterRequest", (event) => {
    isAsking = false;
    if (!event.detail.xhr.status) isBroken = true;
    show();
  });

  news.addEventListener("click", () => location.reload());
  toggle.addEventListener("click", () => {
    isPaused = !isPaused;
    sessionStorage.setItem("sas-paused", isPaused ? "yes" : "no");
    show();
  });
  setInterval(() => {
    if (isPaused || isAsking || isBusy()) return;
    isAsking = true;
    window.htmx.trigger(root, "live");
  }, PERIOD);
  show();
})();
