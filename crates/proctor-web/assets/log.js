// Logs come in blocks by byte range; further blocks are fetched when their link comes near.
import { all, load } from './dom.js';

const watcher = 'IntersectionObserver' in window && new IntersectionObserver((entries) => {
  entries.filter((entry) => entry.isIntersecting).forEach((entry) => more(entry.target));
}, { rootMargin: '600px' });

async function more(link) {
  watcher?.unobserve(link);
  const log = link.closest('.log');
  try {
    const next = (await load(link.href)).querySelector('.log');
    link.parentElement.remove();
    log.append(...[...next.children].map((one) => document.adoptNode(one)));
    watch(log);
  } catch { /* The link stays, and works by itself. */ }
}
const watch = (within) => watcher && all('a[data-more]', within).forEach((link) => watcher.observe(link));
watch(document);
