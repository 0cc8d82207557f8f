// Jumps between criteria and events. Everything is a link; these are the keys for them.
import { all, announce } from './dom.js';
import { bind } from './keys.js';

const criteria = () => all('.crit[data-criterion]');
const chosen = () => document.querySelector('.crit[aria-current]');

bind('f', () => {
  const failed = criteria().filter((one) => one.dataset.failed);
  if (!failed.length) { announce('No criterion failed'); return; }
  const next = failed[(failed.indexOf(chosen()) + 1) % failed.length];
  next.querySelector('a').click();
});

bind('e', () => {
  const here = document.activeElement.closest('.ev, .crit') ?? document.querySelector('.ev[aria-current]');
  if (here?.classList.contains('ev')) {
    const because = here.querySelector('.because a') ?? document.querySelector('.crit[aria-current] a');
    if (because?.matches('.because a')) because.click();
    else because?.focus();
    return;
  }
  const criterion = here ?? chosen() ?? criteria().find((one) => one.dataset.failed);
  if (!criterion) return;
  const link = criterion.querySelector('.links a[data-event]');
  if (link) link.click();
  else announce(criterion.querySelector('.links .none')?.textContent ?? 'Nothing in the journal did this');
});

const fold = (open) => all('.events details, .side details').forEach((one) => one.toggleAttribute('open', open));
bind('[', () => fold(false));
bind(']', () => fold(true));

// What the address names is shown in the middle, with the focus on it.
function reveal() {
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (!target?.matches('.ev, .crit')) return;
  target.scrollIntoView({ block: 'center' });
  target.querySelector('a')?.focus({ preventScroll: true });
}
// The browser moves the focus itself when it goes to a fragment, so ours comes after.
if (document.readyState === 'complete') reveal();
else addEventListener('load', () => setTimeout(reveal));
addEventListener('hashchange', () => setTimeout(reveal));
