// The heat map: one picture, so the pointer and the arrow keys find the cell by arithmetic.
import { all } from './dom.js';

function setUp(svg) {
  const { columns, cell, count, block } = Object.fromEntries(Object.entries(svg.dataset).map(([key, value]) => [key, Number(value)]));
  const names = document.getElementById(svg.dataset.names);
  const place = document.getElementById(svg.dataset.place);
  if ((!names && !block) || !columns) return;
  const cells = names ? JSON.parse(names.textContent) : [];
  const asked = new Set();
  // Names of large maps come in blocks, when somebody looks at one of theirs.
  async function fetchNames(index) {
    const number = Math.floor(index / block);
    if (asked.has(number)) return;
    asked.add(number);
    try {
      const answer = await fetch(`${location.pathname}/cells/${number}`, { credentials: 'same-origin' });
      (await answer.json()).forEach((name, place) => { cells[number * block + place] = name; });
      if (chosen >= 0) choose(chosen);
    } catch { asked.delete(number); }
  }
  const at = svg.querySelector('.at');
  let chosen = -1;
  function choose(index) {
    if (index < 0 || index >= count) return;
    chosen = index;
    at.setAttribute('x', (index % columns) * cell + 0.5);
    at.setAttribute('y', Math.floor(index / columns) * cell + 0.5);
    at.removeAttribute('visibility');
    if (block && !cells[index]) fetchNames(index);
    const [name, words] = cells[index] ?? ['…', ''];
    place.textContent = `${name} · ${words}`;
  }
  const under = (event) => {
    const box = svg.getBoundingClientRect();
    const view = svg.viewBox.baseVal;
    const column = Math.floor(((event.clientX - box.left) / box.width) * view.width / cell);
    const row = Math.floor(((event.clientY - box.top) / box.height) * view.height / cell);
    return column < 0 || column >= columns ? -1 : row * columns + column;
  };
  const open = () => { if (chosen >= 0) location.href = `${location.pathname}/tasks/${chosen + 1}`; };
  svg.addEventListener('pointermove', (event) => choose(under(event)));
  svg.addEventListener('click', (event) => { choose(under(event)); open(); });
  svg.addEventListener('focus', () => { if (chosen < 0) choose(0); });
  svg.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -chosen, End: count - 1 - chosen }[event.key];
    if (step !== undefined) { event.preventDefault(); choose(Math.max(0, Math.min(count - 1, chosen + step))); }
    if (event.key === 'Enter') open();
  });
}
const begin = () => all('svg.grid').filter((svg) => !svg.dataset.ready).forEach((svg) => { setUp(svg); svg.dataset.ready = '1'; });
begin();
document.addEventListener('proctor:fresh', begin);
