// Local time with its zone; UTC in the tooltip. Copy buttons.
import { all, announce } from './dom.js';

const exact = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });
const near = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' });

function show(time) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  time.title ||= `${time.dateTime.replace('T', ' ').replace(/\.\d+Z$/, '')} UTC`;
  const today = new Date().toDateString() === at.toDateString();
  time.textContent = today ? `today ${near.format(at)}` : exact.format(at);
}
const refresh = () => all('time[datetime]').forEach(show);
refresh();
document.addEventListener('proctor:fresh', refresh);

document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  event.preventDefault();
  try {
    await navigator.clipboard.writeText((button.dataset.address ? location.origin + button.dataset.address : '') + button.dataset.copy);
    announce('Copied');
  } catch {
    announce('The browser did not allow copying');
  }
});
