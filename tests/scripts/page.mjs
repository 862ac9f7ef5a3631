// SPDX-License-Identifier: Apache-2.0
// Runs the report's page.js on one table of a page made of plain objects: node page.mjs PAGE.JS < CELLS, a JSON list of columns
// to click and rows of [text, data-v or null]. Prints the texts of the first column after each click.
import { readFileSync } from 'node:fs';

const { clicks, rows } = JSON.parse(readFileSync(0, 'utf8'));
const element = more => ({ classList: { add() {}, toggle() {} }, dataset: {}, append() {}, addEventListener() {}, ...more });
const body = element({
  rows: rows.map(cells => ({ cells: cells.map(([text, v]) => ({ textContent: text, dataset: v === null ? {} : { v } })) })),
  append(...sorted) { this.rows = sorted; },
});
const row = {};
const heads = rows[0].map((_, cellIndex) => {
  const attributes = {};
  return element({
    cellIndex, parentNode: row,
    getAttribute: name => attributes[name] ?? null, setAttribute(name, value) { attributes[name] = value; },
    removeAttribute(name) { delete attributes[name]; }, closest: () => ({ tBodies: [body] }),
    addEventListener(event, act) { if (event === 'click') this.click = act; },
  });
});
row.cells = heads;
globalThis.document = { createElement: () => element({}), body: element({}), querySelectorAll: what => what === 'thead th' ? heads : [] };
globalThis.addEventListener = () => {};
new Function(readFileSync(process.argv[2], 'utf8'))();
const seen = clicks.map(column => {
  heads[column].click();
  return [heads[column].getAttribute('aria-sort'), body.rows.map(one => one.cells[0].textContent)];
});
console.log(JSON.stringify(seen));
