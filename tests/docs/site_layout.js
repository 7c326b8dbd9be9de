// Looks at pages of the site in a frame of a given width: is a page wider than that, does something stick out that does not
// scroll, is a text pale on its ground, is a formula wrong, a picture missing? The page that loads this sets `pages` and `width`.
'use strict';

const channels = colour => {
  const numbers = colour.match(/[\d.]+/g).map(Number);
  return numbers.length < 4 ? [...numbers, 1] : numbers;
};
const over = (top, below) => below.map((value, i) => top[i] * top[3] + value * (1 - top[3]));
const luminance = colour => {
  const [r, g, b] = colour.map(value => value / 255).map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [lighter, darker] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (lighter + 0.05) / (darker + 0.05);
};
const called = element => element.tagName.toLowerCase() + (element.className ? '.' + element.className : '');

// The faults of the page in a window, each once.
function faults(window) {
  const document = window.document;
  const style = element => window.getComputedStyle(element);
  const ground = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(channels(style(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const found = new Set();
  if (document.documentElement.scrollWidth > width + 1) found.add('wider than the window');
  const contents = document.querySelector('div.contents');
  const right = contents.getBoundingClientRect().right + 17; // some tables of the reference reach to the window's edge
  const scrolls = element => {
    const page = element.closest('div.textblock') || contents; // which scrolls as a whole, and should not have to
    for (let e = element.parentElement; e && e !== page; e = e.parentElement) if (style(e).overflowX !== 'visible') return true;
    return false;
  };
  for (const element of contents.querySelectorAll('*:not(svg *)')) {
    const box = element.getBoundingClientRect();
    if (box.width && box.height && box.right > right && !scrolls(element)) found.add(`${called(element)} sticks out`);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || element.closest('script, style, svg, .MathJax_Preview')) continue;
    if (!element.getBoundingClientRect().width || style(element).visibility === 'hidden') continue;
    const below = ground(element);
    if (contrast(over(channels(style(element).color), below), below) < 3.5) found.add(`${called(element)} is pale`);
  }
  for (const picture of document.querySelectorAll('img')) if (picture.complete && !picture.naturalWidth) found.add('a picture is missing');
  if (document.querySelector('.merror, .MathJax_Error')) found.add('a formula is wrong');
  return [...found];
}

(async () => {
  const wrong = [];
  for (const page of pages) {
    const frame = document.createElement('iframe');
    Object.assign(frame, { width, height: 1600, src: page });
    frame.style.border = 0;
    await new Promise(loaded => {
      frame.onload = loaded;
      document.body.append(frame);
    });
    const window = frame.contentWindow;
    for (const part of window.document.querySelectorAll('details')) part.open = true;
    await new Promise(set => (window.MathJax ? window.MathJax.Hub.Queue(set) : set()));
    await new Promise(drawn => setTimeout(drawn, 150));
    for (const fault of faults(window)) wrong.push(`${page}: ${fault}`);
    frame.remove();
  }
  document.getElementById('results').textContent = `${pages.length} pages: ${wrong.join('; ')}|`;
})();
