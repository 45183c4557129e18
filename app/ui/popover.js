// A popover is drawn at the end of the page, where Tab gets last. Whoever opens one by a key is led into it, and from its
// end, or back from its beginning, to its button.
const POPOVER = "[data-testid=stPopoverBody]";
const STOP = "a[href],button:enabled,input:enabled,textarea:enabled,summary,[tabindex='0']";

function enterPopover(state) {
  const popover = document.querySelector(POPOVER);
  if (popover === state.popover) return;
  const button = document.querySelector("[data-testid=stPopoverButton][aria-expanded=true]");
  Object.assign(state, { popover, button });
  if (!popover || !button) return;
  popover.setAttribute("aria-label", button.querySelector("p")?.textContent ?? button.textContent);
  if (!state.tabbed) return;
  popover.tabIndex = -1;
  popover.focus();
}

function leavePopover(state, event) {
  if (event.key !== "Tab" || !state.popover?.contains(event.target) || !state.button?.isConnected) return;
  const stops = [...state.popover.querySelectorAll(STOP)].filter((stop) => stop.offsetParent && stop.tabIndex >= 0);
  const edges = event.shiftKey ? [stops[0], state.popover] : [stops.at(-1) ?? state.popover];
  if (!edges.includes(event.target)) return;
  event.preventDefault();
  state.button.focus();
}
