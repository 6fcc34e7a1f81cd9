// Keys for lists: / j k x o r g ?, where the user has not switched them off.  Never while typing.
(() => {
  "use strict";
  const help = document.querySelector("[data-keys]");
  if (!help) return;
  const rows = () => [...document.querySelectorAll("#result_list > tbody > tr")];
  const linkOf = (row) => row?.querySelector("th a[href], td a[href]");
  const current = () => document.activeElement?.closest("#result_list > tbody > tr");

  const move = (step) => {
    const all = rows();
    const place = all.indexOf(current());
    const next = all[place < 0 ? (step > 0 ? 0 : all.length - 1) : place + step];
    const target = linkOf(next) ?? next?.querySelector("input, button");
    target?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };

  const acts = {
    "/": () => document.getElementById("searchbar")?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => current()?.querySelector(".action-select")?.click(),
    o: () => linkOf(current())?.click(),
    r: () => location.reload(),
    g: () => location.assign(help.dataset.home),
    "?": () => help.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
    const { target } = event;
    if (target.matches("textarea, select, input:not([type=checkbox]):not([type=radio])")) return;
    if (target.isContentEditable) return;
    const act = Object.hasOwn(acts, event.key) ? acts[event.key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  });
})();
