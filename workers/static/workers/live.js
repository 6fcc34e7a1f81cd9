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
  let isPaused = sessionStorage.getItem("sas-paused") === "yes";
  let isBroken = false;
  let isAsking = false;
  let last = "";

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
      (chosen && !chosen.isCollapsed && chosen.containsNode(root, true)) ||
      (root.contains(focused) && focused.matches("select, textarea, input:not([type=checkbox]), [role=dialog] *"))
    );
  };

  // What is open stays open, and what was scrolled stays scrolled.
  const keep = () => {
    const open = [...root.querySelectorAll("details[open][id]")].map((element) => element.id);
    const scrolled = [...root.querySelectorAll(".sas-scroll")].map((element) => element.scrollLeft);
    return () => {
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      root.querySelectorAll(".sas-scroll").forEach((element, place) => {
        element.scrollLeft = scrolled[place] ?? 0;
      });
    };
  };

  const sayChange = (before) => {
    const now = root.querySelector("[data-said]")?.dataset.said;
    if (now && before !== now) said.textContent = now;
  };

  const rowsOf = (within) => [...within.querySelectorAll("#result_list > tbody > tr")];

  // Rows take their new content where they are: the admin's own script holds on to the
  // checkboxes, so another number of rows is a page anew.
  const fillRows = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const [old, rows] = [rowsOf(root), rowsOf(fresh)];
    if (old.length !== rows.length) {
      location.reload();
      return;
    }
    old.forEach((row, place) => {
      const cells = [...rows[place].cells];
      [...row.cells].forEach((cell, column) => {
        const next = cells[column];
        const box = cell.querySelector(".action-select");
        if (box) {
          box.value = next.querySelector(".action-select").value;
          box.ariaLabel = next.querySelector(".action-select").ariaLabel;
        } else if (cell.innerHTML !== next.innerHTML && !cell.contains(document.activeElement)) {
          cell.innerHTML = next.innerHTML;
        }
      });
    });
    const [pages, freshPages] = [document, fresh].map((page) => page.querySelector(".paginator"));
    if (pages && freshPages && !pages.contains(document.activeElement)) {
      pages.innerHTML = freshPages.innerHTML;
    }
  };

  root.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    const isOurs = xhr.status === 200 && xhr.getResponseHeader("X-Server-Now");
    isBroken = !isOurs;
    if (!isOurs || xhr.responseText === last || isBusy()) {
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
