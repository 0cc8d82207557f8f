// A row cursor for tables, and marks for comparing.
import { all, announce } from './dom.js';
import { bind } from './keys.js';

const rows = () => all('tr[data-href]');
const current = () => document.querySelector('tr.cursor');

function move(by) {
  const list = rows();
  if (!list.length) return false;
  const at = list.indexOf(current());
  const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + by))];
  current()?.classList.remove('cursor');
  next.classList.add('cursor');
  next.querySelector('a')?.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'nearest' });
  return true;
}
bind('j', () => move(1));
bind('k', () => move(-1));
bind('Enter', (event) => {
  if (event.target.closest('a, button, summary, svg')) return false;
  const row = current();
  if (row) location.href = row.dataset.href;
  return Boolean(row);
});
bind('x', () => {
  const box = current()?.querySelector('input[data-mark]');
  if (box) box.checked = !box.checked;
  count();
});
const marked = () => all('input[data-mark]:checked');
function count() {
  const button = document.querySelector('[data-compare]');
  if (!button) return;
  const number = marked().length;
  button.disabled = number < 2;
  button.textContent = number < 2 ? 'Compare marked' : `Compare ${number} runs`;
}
bind('c', () => {
  if (!document.querySelector('[data-compare]')) return false;
  if (marked().length < 2) { announce('Mark two runs with x first'); return true; }
  document.getElementById('marked').requestSubmit();
  return true;
});
document.addEventListener('change', (event) => { if (event.target.matches('input[data-mark]')) count(); });
document.addEventListener('proctor:fresh', count);
count();
