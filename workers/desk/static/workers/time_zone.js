// Offers the time zone that the browser is in, where the list of time zones has it.
(() => {
  "use strict";
  const button = document.querySelector("[data-time-zone]");
  const choice = document.getElementById("id_time_zone");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!button || !choice || ![...choice.options].some((option) => option.value === zone)) return;
  button.textContent += `: ${zone}`;
  button.hidden = false;
  button.addEventListener("click", () => { choice.value = zone; });
})();
