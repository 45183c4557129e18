// Scrolls to what a selector finds, once a place.
const MAX_WAIT_MS = 3000;

export default function ({ parentElement, data }) {
  const root = parentElement, until = performance.now() + MAX_WAIT_MS;
  if (root.__as2place === data.place) return;
  const scroll = () => {
    const target = document.querySelector(data.selector);
    if (target) {
      root.__as2place = data.place;
      target.scrollIntoView({ block: data.block });
    } else if (performance.now() < until) setTimeout(scroll, 50);
  };
  scroll();
}
