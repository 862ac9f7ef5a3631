// SPDX-License-Identifier: Apache-2.0
// Checks of a report's page, which test_page_browser.py runs in a browser. Most return a list of what is wrong.
'use strict';
const checks = (() => {
  const nameOf = element => {
    const part = element.closest('[id]');
    return `${element.tagName.toLowerCase()}${part ? ` in #${part.id}` : ''}: ${element.textContent.trim().replace(/\s+/g, ' ').slice(0, 50)}`;
  };
  const ancestors = function* (element) {
    for (let above = element.parentElement; above; above = above.parentElement) yield above;
  };
  const isShown = element => element.checkVisibility({ contentVisibilityAuto: true }) && element.getClientRects().length > 0;
  const ofPage = [...document.querySelectorAll('main *')].filter(element => !element.ownerSVGElement && isShown(element));

  // Nothing is wider than the page, except in a box that scrolls, and no words leave their own box.
  const overflows = width => {
    const scrolls = element => [...ancestors(element)].some(above => ['auto', 'scroll'].includes(getComputedStyle(above).overflowX));
    const found = document.documentElement.scrollWidth > width ? [`page of ${document.documentElement.scrollWidth} px`] : [];
    for (const element of ofPage) {
      const box = element.getBoundingClientRect();
      if ((box.right > width + 0.5 || box.left < -0.5) && !scrolls(element)) found.push(`${Math.round(box.right)} px: ${nameOf(element)}`);
      if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth && getComputedStyle(element).overflowX === 'visible')
        found.push(`${element.scrollWidth} px in ${element.clientWidth}: ${nameOf(element)}`);
    }
    return found;
  };

  // The words of a figure stay in it.
  const cutTexts = () => [...document.querySelectorAll('figure svg text')].filter(text => {
    const box = text.getBoundingClientRect(), figure = text.ownerSVGElement.getBoundingClientRect();
    return box.width && (box.left < figure.left - 1 || box.right > figure.right + 1 || box.top < figure.top - 1 || box.bottom > figure.bottom + 1);
  }).map(nameOf);

  // Words have at least the contrast that WCAG asks for (level AA).
  const parts = colour => colour.match(/[\d.]+/g).map(Number);
  const luminance = colour => {
    const [red, green, blue] = parts(colour).map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = element => [element, ...ancestors(element)].map(one => getComputedStyle(one).backgroundColor)
    .find(colour => (parts(colour)[3] ?? 1) === 1) ?? 'rgb(255, 255, 255)';
  const illegible = () => ofPage.filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())).flatMap(element => {
    const [low, high] = [getComputedStyle(element).color, behind(element)].map(luminance).sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    return contrast < 4.5 ? [`contrast ${contrast.toFixed(2)}: ${nameOf(element)}`] : [];
  });

  // Each link leads to one place, and the entries of the navigation have names of their own.
  const deadLinks = () => {
    const found = [...document.querySelectorAll('a[href^="#"]')].filter(link =>
      document.querySelectorAll(`[id="${CSS.escape(link.hash.slice(1))}"]`).length !== 1).map(link => `${link.hash}: ${nameOf(link)}`);
    const names = [...document.querySelectorAll('nav a')].map(link => link.textContent.trim());
    return [...found, ...names.filter((name, place) => !name || names.indexOf(name) !== place).map(name => `twice in the navigation: ${name}`)];
  };

  // A click on an entry of the navigation brings its section to the top, or, near the end of the page, into view.
  const wrongJumps = () => [...document.querySelectorAll('nav a')].flatMap(link => {
    link.click();
    const top = document.getElementById(link.hash.slice(1)).getBoundingClientRect().top;
    const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    return Math.abs(top) <= 2 || (isAtEnd && top > 0 && top < innerHeight) ? [] : [`${link.hash} is at ${Math.round(top)} px`];
  });

  // The columns of every table, each after one click on its head and after two: texts and values of the cells, null for none.
  const sortedColumns = () => [...document.querySelectorAll('table')].flatMap(table => [...table.tHead.rows[0].cells].map(head => {
    const column = () => [...table.tBodies[0].rows].map(row => row.cells[head.cellIndex])
      .map(cell => cell ? cell.dataset.v ?? cell.textContent.trim() : '');
    return { name: nameOf(head), orders: [1, 2].map(() => { head.click(); return [head.getAttribute('aria-sort'), column()]; }) };
  }));

  // Marks the corners of each figure, the end of its caption and of each table that paper opens, by words to find on paper.
  const mark = () => {
    const add = (svg, x, y, anchor, word) => {
      const text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
      Object.entries({ x, y, 'font-size': 4, 'text-anchor': anchor }).forEach(([name, value]) => text.setAttribute(name, value));
      text.textContent = word;
      svg.append(text);
    };
    const figures = [...document.querySelectorAll('figure')];
    figures.forEach((figure, number) => {
      const svg = figure.querySelector('svg'), { x, y, width, height } = svg.viewBox.baseVal;
      add(svg, x, y + 4, 'start', `corner${number}first`);
      add(svg, x + width, y + height - 1, 'end', `corner${number}last`);
      figure.querySelector('figcaption').append(` corner${number}caption`);
    });
    const tables = [...document.querySelectorAll('details.printed table')];
    tables.forEach((table, number) => [...table.rows].at(-1).cells[0].append(` table${number}end`));
    return [figures.map(figure => figure.id), tables.length];
  };
  const unfold = () => { for (const folded of document.querySelectorAll('details')) folded.open = true; };

  // Scrolls to a figure and returns the place of its first value, in pixels from its middle, with the text that is shown there.
  const firstPoint = svg => {
    svg.scrollIntoView({ block: 'center' });
    const [x, y, text] = JSON.parse(svg.dataset.points)[0], box = svg.viewBox.baseVal, shown = svg.getBoundingClientRect();
    return [(x - box.width / 2) * shown.width / box.width, (y - box.height / 2) * shown.height / box.height, text];
  };
  return { unfold, firstPoint, overflows, cutTexts, illegible, deadLinks, wrongJumps, sortedColumns, mark };
})();
