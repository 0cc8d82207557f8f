// Large runs, worlds and logs, exports, jobs, devboxes, settings, documents. What is counted are nodes, bytes and requests, not time.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

const NODES = 5000;

export function large({ seed, browser, visitor, eventually, assert, equal, api, of, axe, POLICY }) {
  const { url, key } = seed;
  const careless = of('careless', 'critical-lab');
  const run = `/ui/runs/${seed.large.run}`;
  const busy = `/ui/task-runs/${seed.large.busy}`;
  const log = seed.large.log && `/ui/task-runs/${seed.large.log.task_run}/logs/agent`;
  const nodes = (page) => page.evaluate(() => document.querySelectorAll('*').length);
  const count = (page, selector) => page.locator(selector).count();
  const packed = async (response) => gzipSync(await response.body()).length;
  const proctor = (...args) => execFileSync(seed.program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const exported = (...args) => proctor('export', ...args, '--server', url, '--key', key);
  const own = () => ['/ui/jobs', '/ui/devboxes', '/ui/settings/keys', '/ui/settings/solvers', '/ui/settings/secrets', '/ui/docs', '/ui/docs/pages', '/ui/docs/statistics', run, busy, ...(log ? [log] : [])];

  return {
    async 'a run of 10,000 tasks is a light page, sorted and filtered by the server'() {
      const page = await visitor();
      const response = await page.goto(url + run);
      const [bytes, elements] = [await packed(response), await nodes(page)];
      console.log(`  10,000 tasks: ${bytes} bytes, ${elements} nodes`);
      assert(bytes <= 90 << 10, `${bytes} bytes`);
      assert(elements <= NODES, `${elements} nodes`);
      assert((await page.textContent('#head')).includes('10,000 tasks'), 'all are counted');
      assert((await count(page, 'svg.grid path')) <= 8, 'the heat map is a few paths');
      equal(await count(page, '#tasks tbody tr'), 100);
      for (const query of ['sort=name', 'sort=time', 'show=fail', 'q=potassium', 'part=100']) {
        const answer = await page.goto(`${url}${run}?${query}`);
        equal(answer.status(), 200, query);
        assert((await packed(answer)) <= 90 << 10, query);
        assert((await nodes(page)) <= NODES, query);
      }
      equal(page.problems, []);
      await page.context().close();
    },

    async 'the heat map of a large run names its cells, moves by arrows and opens'() {
      const page = await visitor();
      await page.goto(url + run);
      await page.focus('svg.grid');
      await eventually('the first cell is named', async () => /pass|fail|partial|void/.test(await page.textContent('#cell-name')));
      const first = await page.textContent('#cell-name');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('End');
      await eventually('the last cell is named', async () => /pass|fail|partial|void/.test(await page.textContent('#cell-name')));
      await page.keyboard.press('Home');
      await eventually('the first again', async () => (await page.textContent('#cell-name')) === first);
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/ui\/task-runs\//);
      equal(page.problems, []);
      await page.context().close();
    },

    async '100,000 events are read by page: first, by number, by time, by text, last'() {
      const page = await visitor();
      const read = async (query) => {
        const response = await page.goto(`${url}${busy}${query}`);
        equal(response.status(), 200, query);
        assert((await packed(response)) <= 60 << 10, `${query}: ${await packed(response)} bytes`);
        assert((await nodes(page)) <= NODES, `${query}: ${await nodes(page)} nodes`);
        return page.$$eval('.ev', (rows) => rows.map((row) => Number(row.querySelector('.st .faint').textContent.slice(1))));
      };
      equal((await read('')).length, 200);
      // The first view does not wait for all of it; the page comes again until all is read.
      await eventually('all is read', async () => { await page.goto(url + busy); return !(await page.content()).includes('This is a large world'); }, 180000);
      const total = Number((await page.textContent('#head')).match(/([\d,]+) events/)[1].replaceAll(',', ''));
      assert(total > 99_000, `${total} events`);
      const last = await read('?go=end');
      equal(last.at(-1), total - 1);
      equal((await read('?go=50000'))[0], 50000);
      // The looks are copies of one, so all have its time.
      equal((await read('?go=00:00')).length, 200);
      const found = await read('?q=only%20once');
      assert(found.length >= 1 && found.length < 5, `${found}`);
      equal((await read('?from=99000'))[0], 99000);
      assert((await read('?show=writes')).length >= 1, 'writes');
      await page.goto(`${url}${busy}?go=nowhere`);
      assert((await page.textContent('#timeline')).includes('no such place'), 'said');
      // A link to an event far behind restores its view.
      await page.goto(`${url}${busy}?go=end`);
      const link = await page.getAttribute('.ev > a >> nth=-1', 'href');
      await page.goto(`${url}${busy}${link}`);
      equal(await count(page, '.drawer'), 1);
      equal(page.problems, []);
      await page.context().close();
    },

    async 'a log of 100 MB is read by blocks, at its end, and searched by the server'() {
      if (!log) return;
      const page = await visitor();
      const response = await page.goto(url + log);
      assert((await packed(response)) <= 60 << 10, `${await packed(response)} bytes`);
      assert((await nodes(page)) <= NODES, `${await nodes(page)} nodes`);
      const before = memory();
      await page.goto(`${url}${log}?from=end`);
      assert((await page.textContent('.log')).includes('the needle </pre><script>'), 'the end');
      await page.goto(`${url}${log}?q=the%20NEEDLE`);
      equal(await count(page, 'table tbody tr'), 1);
      await page.click('table tbody a');
      assert((await page.textContent('.log')).includes('the needle'), 'the line');
      assert(await page.$(':target'), 'the line is marked');
      const grown = memory() - before;
      console.log(`  100 MB of log: the server grew by ${Math.round(grown / 1e6)} MB`);
      assert(grown <= 60e6, `${grown} bytes more`);
      equal(page.problems, []);
      await page.context().close();
    },

    async 'an export is one file that opens offline, with the numbers of the page and links to events'() {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'proctor-export-'));
      const file = path.join(directory, 'run.html');
      exported(careless.run_id, '-o', file);
      const text = fs.readFileSync(file, 'utf8');
      assert(text.length < 10 << 20, `${text.length} bytes`);
      assert(!/<script|\sstyle=|\son\w+=/.test(text.replace(/<pre[\s\S]*?<\/pre>/g, '')), 'no scripts and no styles in attributes');
      assert(text.includes('name=robots content=noindex') && text.includes('Content-Security-Policy'), 'the head');
      const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 800 } });
      const page = await context.newPage();
      const [requests, problems] = [[], []];
      page.on('request', (request) => requests.push(request.url()));
      page.on('console', (line) => { if (line.type() === 'error') problems.push(line.text()); });
      await page.goto(`file://${file}`);
      equal(requests, [`file://${file}`]);
      equal(problems, []);
      const online = await visitor();
      await online.goto(`${url}/ui/runs/${careless.run_id}`);
      equal(await page.textContent('.big'), await online.textContent('.big'));
      equal(await page.$$eval('.legend span b', (all) => all.map((one) => one.textContent)), await online.$$eval('.legend span b', (all) => all.map((one) => one.textContent)));
      const targets = await page.$$eval('.links a', (links) => links.map((one) => one.getAttribute('href')));
      assert(targets.length > 0, 'there are links to events');
      for (const target of targets) assert(await page.$(`[id="${target.slice(1)}"]`), `${target} is in the file`);
      const style = await page.evaluate(() => getComputedStyle(document.querySelector('.big')).fontSize);
      assert(parseFloat(style) > 30, `styled: ${style}`);
      await context.close();
      await online.context().close();
      fs.rmSync(directory, { recursive: true });
    },

    async 'a hostile run is exported as text, and its table has no formula'() {
      const [hostile] = Object.values(seed.hostile.runs);
      const page = exported(hostile.run, '-o', '-');
      assert(page.includes('&lt;img') && !/<(script|img|iframe)[\s>]/.test(page), 'no element made');
      const rows = exported(hostile.run, '--csv', '-o', '-').trim().split('\n');
      const { data } = await api(`/criterion-runs?task_run_id=${hostile.task_run}&limit=100`);
      assert(rows.length - 1 >= data.length && data.length > 0, `${rows.length} rows`);
      for (const row of rows) assert(!/(^|,)"?[=+@-]/.test(row), row);
      const lines = exported(hostile.run, '--jsonl', '-o', '-').trim().split('\n').map((line) => JSON.parse(line));
      equal(lines.length, rows.length - 1);
      assert(lines.every((line) => line.evidence && line.criterion_run_id), 'evidence');
    },

    async 'a zip has linked pages, digests and journals that can be checked offline'() {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'proctor-zip-'));
      const file = path.join(directory, 'run.zip');
      exported(careless.run_id, '--zip', '-o', file);
      assert(proctor('verify-journal', file).includes(`${careless.tasks.length} of ${careless.tasks.length} world(s) intact`), 'intact');
      execFileSync('python3', ['-m', 'zipfile', '-e', file, directory]);
      execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: directory });
      const summary = JSON.parse(fs.readFileSync(path.join(directory, 'run.json'), 'utf8'));
      equal(summary.task_runs.length, careless.tasks.length);
      const index = fs.readFileSync(path.join(directory, 'index.html'), 'utf8');
      for (const task of summary.task_runs) {
        assert(index.includes(`tasks/${task.id}.html`) && fs.existsSync(path.join(directory, 'tasks', `${task.id}.html`)), task.id);
      }
      const [journal] = fs.readdirSync(path.join(directory, 'journals')).filter((name) => name.endsWith('.jsonl'));
      const place = path.join(directory, 'journals', journal);
      assert(proctor('verify-journal', place).includes('1 of 1'), 'a file by itself');
      const lines = fs.readFileSync(place, 'utf8').split('\n');
      fs.writeFileSync(place, [...lines.slice(0, 2), ...lines.slice(3)].join('\n'));
      let said = '';
      try { proctor('verify-journal', place); } catch (error) { said = error.stdout; }
      assert(said.includes('is missing'), said);
      exported(careless.run_id, '--zip', '--redact', '-o', file);
      const names = execFileSync('python3', ['-m', 'zipfile', '-l', file], { encoding: 'utf8' });
      assert(!names.includes('.jsonl') && names.includes('heads.json'), 'no journals in what is redacted');
      fs.rmSync(directory, { recursive: true });
    },

    async 'a job shows its matrix live, each average by its name, and is cancelled by a form'() {
      const { scenarios } = await api('/v1/scenarios?limit=100');
      const chosen = (scenarios ?? []).slice(0, 2).map((one) => one.id);
      if (!chosen.length || !seed.large.log) return;
      const body = { name: '<b>night</b>', spec: { type: 'scenarios', scenario_ids: chosen, agent_configs: [{ type: 'job_agent', name: 'oracle' }, { type: 'job_agent', name: 'slow', kwargs: { command: 'sleep 600' } }], orchestrator_config: { n_concurrent_trials: 1 } } };
      const job = await api('/v1/benchmark_jobs', { method: 'POST', body: JSON.stringify(body) });
      assert(job.id, JSON.stringify(job));
      const page = await visitor();
      await page.goto(`${url}/ui/jobs`);
      assert((await page.textContent('main')).includes('<b>night</b>'), 'the list');
      await page.goto(`${url}/ui/jobs/${job.id}`);
      await page.evaluate(() => { window.kept = true; });
      equal(await count(page, '.matrix tbody tr'), chosen.length);
      const text = await page.textContent('main');
      assert(text.includes('Average over completed') && text.includes('Score over all that count'), 'both averages have names');
      await eventually('a scenario is judged', async () => (await page.textContent('.matrix')).includes('1.000'), 120000);
      assert(await page.evaluate(() => window.kept), 'without loading the page again');
      equal(await count(page, '.matrix tbody tr'), chosen.length, 'no row twice');
      await page.click('form[action$="/cancel"] button');
      await eventually('it is cancelled', async () => (await page.textContent('#head')).includes('cancelled'));
      equal(page.problems, []);
      await page.context().close();
    },

    async 'a devbox is looked at, suspended, resumed and shut down by forms'() {
      if (!seed.large.log) return;
      const box = await api('/v1/devboxes', { method: 'POST', body: JSON.stringify({ name: '<i>box</i>' }) });
      const is = (status) => eventually(`it is ${status}`, async () => (await api(`/v1/devboxes/${box.id}`)).status === status, 60000);
      await is('running');
      const command = 'echo "<script>alert(1)</script>"; echo hello > /tmp/x; exit 3';
      await api(`/v1/devboxes/${box.id}/execute`, { method: 'POST', body: JSON.stringify({ command, command_id: crypto.randomUUID() }) });
      // Without scripts: a page that follows by itself may exchange a button in the moment in which it is clicked.
      const page = await visitor({ javaScriptEnabled: false });
      const shown = async () => {
        await page.goto(`${url}/ui/devboxes/${box.id}`);
        return page.textContent('main');
      };
      await page.goto(`${url}/ui/devboxes`);
      assert((await page.textContent('main')).includes('<i>box</i>'), 'the list');
      await eventually('its command is listed', async () => (await shown()).includes('exit 3'));
      await page.click('#executions tbody a');
      assert((await page.textContent('.log')).includes('<script>alert(1)</script>'), 'its output');
      await page.goto(`${url}/ui/devboxes/${box.id}/file?path=/tmp/x`);
      equal((await page.textContent('pre.block')).trim(), 'hello');
      for (const [action, status] of [['suspend', 'suspended'], ['resume', 'running'], ['shutdown', 'shutdown']]) {
        await shown();
        await page.click(`form[action$="/${action}"] button`);
        await is(status);
        assert((await shown()).includes(status), `${status} is shown`);
      }
      equal(page.problems, []);
      await page.context().close();
    },

    async 'keys are made, shown once and revoked by their typed name; secrets have names only'() {
      const page = await visitor({ javaScriptEnabled: false });
      await page.goto(`${url}/ui/settings/keys`);
      await page.fill('input[name=name]', '<b>ci</b>');
      await page.click('button.primary');
      const made = (await page.textContent('#made')).trim();
      assert(made.startsWith('vk_'), made);
      equal((await fetch(`${url}/benchmarks`, { headers: { authorization: `Bearer ${made}` } })).status, 200);
      await page.goto(`${url}/ui/settings/keys`);
      assert(!(await page.content()).includes(made), 'shown once');
      const row = page.locator('tr', { hasText: '<b>ci</b>' });
      await row.locator('summary').click();
      await row.locator('input[name=typed]').fill('wrong');
      await row.locator('button.danger').click();
      assert((await page.textContent('main')).includes('Nothing was changed'), 'refused');
      equal((await fetch(`${url}/benchmarks`, { headers: { authorization: `Bearer ${made}` } })).status, 200);
      await page.goto(`${url}/ui/settings/keys`);
      await row.locator('summary').click();
      await row.locator('input[name=typed]').fill('<b>ci</b>');
      await row.locator('button.danger').click();
      await page.waitForURL(`${url}/ui/settings/keys`);
      await eventually('it is refused', async () => (await fetch(`${url}/benchmarks`, { headers: { authorization: `Bearer ${made}` } })).status === 401);
      await page.goto(`${url}/ui/settings/secrets`);
      await page.fill('.form input[name=name]', 'PAGES_TOKEN');
      await page.fill('.form input[name=value]', 'hunter2-hunter2');
      await page.click('.form button');
      const shown = await page.content();
      assert(shown.includes('PAGES_TOKEN') && !shown.includes('hunter2'), 'names only');
      const secret = page.locator('tr', { hasText: 'PAGES_TOKEN' });
      await secret.locator('summary', { hasText: 'Delete' }).click();
      await secret.locator('input[name=typed]').fill('PAGES_TOKEN');
      await secret.locator('button.danger').click();
      await page.waitForURL(`${url}/ui/settings/secrets`);
      assert(!(await page.textContent('main')).includes('PAGES_TOKEN'), 'gone');
      await page.context().close();
      // Forged tokens and Solvers change nothing.
      const solver = await visitor({}, seed.hostile.key);
      equal((await solver.goto(`${url}/ui/settings/keys`)).status(), 403);
      equal((await solver.goto(`${url}/ui/jobs`)).status(), 403);
      await solver.context().close();
      const forger = await visitor();
      const [cookie] = (await forger.context().cookies()).filter((one) => one.name.endsWith('proctor'));
      for (const target of ['/ui/settings/keys', '/ui/settings/secrets', `/ui/jobs/${'bmj_' + '0'.repeat(26)}/cancel`, `/ui/devboxes/${'dbx_' + '0'.repeat(26)}/shutdown`]) {
        const answer = await fetch(url + target, { method: 'POST', redirect: 'manual', body: 'token=forged&name=x&value=y', headers: { origin: url, cookie: `${cookie.name}=${cookie.value}`, 'content-type': 'application/x-www-form-urlencoded' } });
        equal(answer.status, 403, target);
      }
      await forger.context().close();
    },

    async 'documents are pages, and all of these pages keep the rules'() {
      for (const colorScheme of ['light', 'dark']) {
        const page = await visitor({ colorScheme });
        for (const path of own()) {
          const response = await page.goto(url + path);
          equal(response.status(), 200, path);
          equal(response.headers()['content-security-policy'], POLICY, path);
          assert(!/\s(style|on\w+)=["']?/.test((await response.text()).replace(/<(pre|code|article)[\s\S]*?<\/\1>/g, '')), `${path} has a style or a handler`);
          const session = await page.context().newCDPSession(page);
          await session.send('Runtime.evaluate', { expression: axe });
          const { result } = await session.send('Runtime.evaluate', {
            expression: "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160))])))",
            awaitPromise: true,
          });
          equal(JSON.parse(result.value), [], `${colorScheme} ${path}`);
        }
        equal(page.problems, []);
        equal(page.foreign, []);
        await page.context().close();
      }
      const small = await visitor({ viewport: { width: 360, height: 640 } });
      for (const path of own()) {
        await small.goto(url + path);
        const over = await small.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert(over <= 0, `${path} is ${over} px too wide`);
      }
      await small.context().close();
      for (const path of own()) equal((await fetch(url + path, { redirect: 'manual' })).status, 303, path);
    },
  };

  /** What the server's processes hold in memory. */
  function memory() {
    const status = fs.readFileSync(`/proc/${seed.pid}/status`, 'utf8');
    return Number(status.match(/VmRSS:\s+(\d+)/)[1]) * 1024;
  }
}
