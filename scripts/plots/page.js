// Hovering (or tapping) a figure says the nearest value; a click on a table's head sorts; what can be scrolled to the right fades
// there. The page says all without this.
'use strict';
const tip = document.createElement('div');
tip.id = 'tip';
tip.hidden = true;
document.body.append(tip);
const reach = 14;  // of the picture's own units
for (const svg of document.querySelectorAll('svg[data-points]')) {
  let points;
  const show = event => {
    points ??= JSON.parse(svg.dataset.points);
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let nearest = null, least = reach * reach;
    for (const point of points) {
      const distance = (point[0] - x) ** 2 + (point[1] - y) ** 2;
      if (distance < least) { least = distance; nearest = point; }
    }
    tip.hidden = !nearest;
    if (!nearest) return;
    const here = points.filter(point => (point[0] - nearest[0]) ** 2 + (point[1] - nearest[1]) ** 2 < 4).slice(0, 6);
    tip.replaceChildren(...here.flatMap((point, i) => i ? [document.createElement('br'), point[2]] : [point[2]]));
    tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
  };
  svg.addEventListener('pointermove', show);
  svg.addEventListener('pointerdown', show);
  svg.addEventListener('pointerleave', () => { tip.hidden = true; });
}
// A dash says that there is no value.
const valueOf = (row, column) => {
  const cell = row.cells[column];
  if (!cell) return null;
  const text = cell.dataset.v ?? cell.textContent.trim();
  return text === '' || text.startsWith('–') ? null : Number.isNaN(Number(text)) ? text : Number(text);
};
const compare = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === 'number' ? -1 : 1;
for (const head of document.querySelectorAll('thead th')) {
  head.classList.add('sorts');
  head.tabIndex = 0;
  head.addEventListener('keydown', event => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();  // a space would scroll
    head.click();
  });
  head.addEventListener('click', () => {
    const up = head.getAttribute('aria-sort') !== 'ascending', body = head.closest('table').tBodies[0];
    for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const rows = [...body.rows].map(row => [valueOf(row, head.cellIndex), row]);
    rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : up ? compare(a, b) : compare(b, a));
    body.append(...rows.map(([, row]) => row));
  });
}
for (const box of document.querySelectorAll('.scroll')) {
  const fade = () => box.classList.toggle('more', box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  box.addEventListener('scroll', fade, { passive: true });
  new ResizeObserver(fade).observe(box);
}
// Paper has no triangle to click: what is worth a page of it is open there.
addEventListener('beforeprint', () => { for (const folded of document.querySelectorAll('details.printed')) folded.open = true; });
