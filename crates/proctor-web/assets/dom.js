// The only place that makes elements of text: the server's own pages, through the one Trusted Types policy.
const policy = window.trustedTypes?.createPolicy('proctor', { createHTML: (html) => html });

export const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** Loads a page of this server as a document; nothing in it runs. */
export async function load(url) {
  const answer = await fetch(url, { credentials: 'same-origin', redirect: 'error', headers: { accept: 'text/html' } });
  if (!answer.ok) throw new Error(answer.status);
  const html = await answer.text();
  return new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, 'text/html');
}

/** Exchanges the regions of this page that differ in the new one; returns how many did. */
export function exchange(next) {
  let changed = 0;
  for (const region of all('[data-region]')) {
    const fresh = next.getElementById(region.id);
    if (!fresh || fresh.isEqualNode(region)) continue;
    const open = all('details[open][id]', region).map((one) => one.id);
    const focused = region.contains(document.activeElement) ? document.activeElement.id : '';
    region.replaceWith(document.adoptNode(fresh));
    open.forEach((id) => document.getElementById(id)?.setAttribute('open', ''));
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    changed += 1;
  }
  if (changed) document.dispatchEvent(new Event('proctor:fresh'));
  return changed;
}

/** Says something to everybody who is here, without taking the focus. */
export function announce(text, action) {
  const place = document.getElementById('announce');
  place.replaceChildren(text);
  if (action) {
    const button = document.createElement('button');
    button.textContent = action.label;
    button.addEventListener('click', action.run);
    place.append(' ', button);
  }
  place.hidden = false;
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => { place.hidden = true; }, action ? 20000 : 4000);
}
