// Scrolls to what a selector finds, once a place. Where that is a part of the page that somebody going by Tab asked for, its
// heading gets the focus, which would otherwise stay at the button, out of sight.
const MAX_WAIT_MS = 3000;

function focusStart(target) {
  if (document.activeElement.matches("input,textarea")) return;  // somebody types
  const start = target.querySelector("h1,h2,h3") ?? target;
  start.tabIndex = -1;
  start.focus({ preventScroll: true });
}

export default function ({ parentElement, data }) {
  const root = parentElement, until = performance.now() + MAX_WAIT_MS;
  if (root.__as2place === data.place) return;
  const scroll = () => {
    const target = document.querySelector(data.selector);
    if (target) {
      root.__as2place = data.place;
      target.scrollIntoView({ block: data.block });
      if (data.block === "start" && window.__as2keys?.tabbed) focusStart(target);
    } else if (performance.now() < until) setTimeout(scroll, 50);
  };
  scroll();
}
