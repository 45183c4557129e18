// The picture with its caption as a file of its own, and texts for the clipboard.

const PAD = 16, LINE = 18, PNG_SCALE = 2;

/** Inline what the page's style sheet says: a file has neither our style sheet nor our variables. */
const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-weight",
  "text-anchor", "paint-order"];

export function exportPicture({ find, record, drawn }) {
  const picture = find("svg.picture"), copy = picture.cloneNode(true);
  const from = [...picture.querySelectorAll("*")], ink = getComputedStyle(find(".cascade")).color;
  [...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of [...element.attributes].map((a) => a.name)) if (/^(data-|style|class)/.test(name)) element.removeAttribute(name);
    for (const name of STYLED) element.setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = drawn.at;
  const caption = [find(".figures").textContent, find(".say").textContent].flatMap((text) => wrap(text.replace(/\s+/g, " ").trim(), Math.floor(width / 6.6)));
  const ground = getComputedStyle(document.querySelector(".stApp")).backgroundColor;
  const lines = caption.map((line, i) => `<text x="${PAD}" y="${PAD + 44 + height + i * LINE}" font-size="13" fill="${ink}">${escapeText(line)}</text>`);
  const w = width + 2 * PAD, h = height + caption.length * LINE + 2 * PAD + 36;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="sans-serif">`
    + `<rect width="100%" height="100%" fill="${ground}"/><text x="${PAD}" y="${PAD + 12}" font-size="15" font-weight="600" fill="${ink}">${escapeText(cut(record.question, 90))}</text>`
    + `<g transform="translate(${PAD} ${PAD + 22})">${[...copy.children].map((c) => new XMLSerializer().serializeToString(c)).join("")}</g>${lines.join("")}</svg>`;
}

function wrap(text, characters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && lines.at(-1).length + word.length + 1 > characters) lines.push(word);
    else lines[lines.length - 1] += (lines.at(-1) && " ") + word;
  }
  return lines;
}

export async function paint(svg) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })), image = new Image();
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: image.width * PNG_SCALE, height: image.height * PNG_SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The clipboard's own interface is missing where the page is not served securely. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).catch(() => copyBySelection(text));
  return copyBySelection(text);
}

function copyBySelection(text) {
  const field = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
