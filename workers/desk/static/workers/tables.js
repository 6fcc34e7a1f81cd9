// Keeps a list a table for screen readers, also where its rows are laid out as cards.
(() => {
  "use strict";
  const table = document.getElementById("result_list");
  if (!table) return;
  table.setAttribute("role", "table");
  for (const group of [table.tHead, ...table.tBodies]) group?.setAttribute("role", "rowgroup");
  for (const row of table.rows) {
    row.setAttribute("role", "row");
    for (const cell of row.cells) {
      const isHead = cell.tagName === "TH";
      const role = cell.closest("thead") ? "columnheader" : isHead ? "rowheader" : "cell";
      cell.setAttribute("role", role);
    }
  }
})();
