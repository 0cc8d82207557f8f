// Shortcuts. All are off while typing, and can be switched off for good.
import { all, announce } from './dom.js';

const HELP = [
  ['?', 'this help'], ['/', 'search'], ['g r', 'runs'], ['g o', 'overview'], ['g b', 'benchmarks'], ['g j', 'jobs'], ['g c', 'compare'], ['g l', 'leaderboards'], ['g d', 'devboxes'], ['g h', 'documents'],
  ['j k', 'next, previous row'], ['Enter', 'open the row'], ['x', 'mark a run for compare'], ['c', 'compare the marked runs'],
  ['n p', 'next, previous task run'], ['f', 'next failed criterion'], ['e', 'evidence ↔ event'], ['[ ]', 'collapse, expand'], ['t', 'light or dark'],
];
const OFF = 'proctor-keys-off';
const keys = new Map();
let pending = '';

/** Binds a key of a page. */
export const bind = (key, run) => keys.set(key, run);

const typing = (event) => event.target.closest('input, textarea, select, [contenteditable]') || event.ctrlKey || event.metaKey || event.altKey;

function help() {
  let dialog = document.getElementById('help');
  if (!dialog) {
    dialog = document.createElement('dialog');
    dialog.id = 'help';
    const title = document.createElement('h2');
    title.textContent = 'Keyboard shortcuts';
    const list = document.createElement('div');
    list.className = 'keys';
    for (const [key, what] of HELP) {
      const row = document.createElement('div');
      const name = document.createElement('span');
      const cap = document.createElement('kbd');
      name.textContent = what;
      cap.textContent = key;
      row.append(name, cap);
      list.append(row);
    }
    const label = document.createElement('label');
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = !localStorage.getItem(OFF);
    box.addEventListener('change', () => (box.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, '1')));
    label.append(box, ' shortcuts are on');
    const close = document.createElement('button');
    close.className = 'btn';
    close.textContent = 'Close';
    close.addEventListener('click', () => dialog.close());
    const foot = document.createElement('p');
    foot.append(label, ' ', close);
    dialog.append(title, list, foot);
    document.body.append(dialog);
  }
  dialog.showModal();
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme === 'dark' || (root.dataset.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.theme = dark ? 'light' : 'dark';
  document.cookie = `proctor-theme=${root.dataset.theme}; path=/ui; max-age=31536000; samesite=lax`;
}

bind('?', help);
bind('t', theme);
bind('/', () => document.querySelector('.find input')?.focus());
document.addEventListener('click', (event) => { if (event.target.closest('[data-help]')) help(); });

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    all('details.account[open], details.menu[open]').forEach((one) => one.removeAttribute('open'));
    if (event.target.matches?.('input')) event.target.blur();
    return;
  }
  if (typing(event) || document.querySelector('dialog[open]')) return;
  if (localStorage.getItem(OFF) && event.key !== '?') return;
  if (pending === 'g') {
    pending = '';
    const target = event.key === 'o' ? '/ui/' : document.querySelector(`[data-go="${CSS.escape(event.key)}"]`)?.getAttribute('href');
    if (target) { event.preventDefault(); location.href = target; }
    return;
  }
  if (event.key === 'g') { pending = 'g'; setTimeout(() => { pending = ''; }, 1500); return; }
  const link = all(`[data-key="${CSS.escape(event.key)}"]`)[0];
  if (keys.has(event.key)) { if (keys.get(event.key)(event) !== false) event.preventDefault(); }
  else if (link) { event.preventDefault(); link.click(); }
});
document.addEventListener('click', (event) => {
  all('details.account[open]').filter((one) => !one.contains(event.target)).forEach((one) => one.removeAttribute('open'));
});
export { announce };
