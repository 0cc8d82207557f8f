// Follows what the page shows. The server says that something changed; the page loads itself again and exchanges what differs.
import { announce, exchange, load } from './dom.js';

const of = document.body.dataset.live;
let busy = false;
let again = false;

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const next = await load(location.href);
    exchange(next);
    if (next.body.dataset.live !== of) source?.close();
  } catch {
    again = false;
  }
  setTimeout(() => { busy = false; if (again) { again = false; refresh(); } }, 500);
}

let source;
function connect() {
  source = new EventSource(`/ui/live?of=${encodeURIComponent(of)}`);
  let broke = false;
  source.addEventListener('changed', refresh);
  source.addEventListener('at', () => { if (broke) { broke = false; refresh(); } });
  source.addEventListener('error', () => {
    broke = true;
    // The browser connects again by itself, unless it was refused; then ask now and then.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { refresh(); connect(); }, 5000);
  });
}
if (of) {
  connect();
  addEventListener('pagehide', () => source?.close());
  addEventListener('pageshow', (event) => { if (event.persisted) { connect(); refresh(); } });
}
export { announce };
