// Scrolls to the marked sentence of the document, once a link.
const MAX_WAIT_MS = 3000;

export default function ({ parentElement, data }) {
  const root = parentElement, until = performance.now() + MAX_WAIT_MS;
  if (root.__as2place === data.place) return;
  const scroll = () => {
    const sentence = document.querySelector(".as2-doc .here");
    if (sentence) {
      root.__as2place = data.place;
      sentence.scrollIntoView({ block: "center" });
    } else if (performance.now() < until) setTimeout(scroll, 50);
  };
  scroll();
}
