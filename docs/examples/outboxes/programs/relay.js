// LISTEN/NOTIFY relay. SCAN=1: scan at start and after each reconnect; POLL=ms: fallback poll. EXPLICIT: broken publishes only the notified id
const { Client } = require('pg'); const { connect, headers, StringCodec } = require('nats');
const SCAN = process.env.SCAN === '1', POLL = +(process.env.POLL || 0), T = process.env.OUTBOXTEST_TOPIC;
const sleep = ms => new Promise(r => setTimeout(r, ms)); const sc = StringCodec();
(async () => {
  const u = new URL(process.env.OUTBOXTEST_BROKER_URL); // nats.js takes no credentials from the URL
  const nc = await connect({ servers: u.host, user: u.username, pass: u.password, maxReconnectAttempts: -1, reconnectTimeWait: 200 });
  const js = nc.jetstream();
  for (;;) { // one database session
    const c = new Client({ connectionString: process.env.OUTBOXTEST_POSTGRES_URL });
    let dead, wake = () => {}, todo = SCAN ? ['all'] : [];
    c.on('error', e => { dead = e; wake(); }); c.on('end', () => { dead = dead || new Error('end'); wake(); });
    try {
      await c.connect();
      c.on('notification', n => { todo.push(n.payload); wake(); });
      await c.query('LISTEN outbox');
      for (;;) {
        if (dead) throw dead;
        if (!todo.length) {
          let t; await new Promise(r => { wake = r; if (POLL) t = setTimeout(() => { todo.push('all'); r(); }, POLL); }); clearTimeout(t); continue;
        }
        const w = todo.shift();
        try {
          await c.query('BEGIN');
          const rows = (SCAN ? await c.query('SELECT id, event_id, payload FROM outbox WHERE published_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED')
            : await c.query('SELECT id, event_id, payload FROM outbox WHERE published_at IS NULL AND id = $1 FOR UPDATE SKIP LOCKED', [w])).rows;
          for (const r of rows) {
            const h = headers(); h.set('Event-Id', r.event_id);
            await js.publish(T, sc.encode(JSON.stringify(r.payload)), { headers: h, msgID: r.event_id, timeout: 2000 });
            await c.query('UPDATE outbox SET published_at = now() WHERE id = $1', [r.id]);
          }
          await c.query('COMMIT');
        } catch (e) {
          console.error('work', e.message); if (dead) throw dead;
          await c.query('ROLLBACK'); await sleep(200); todo.unshift(w);
        }
      }
    } catch (e) { console.error('session', e.message); c.end().catch(() => {}); await sleep(200); }
  }
})();
process.on('unhandledRejection', e => { console.error('unhandled', e); process.exit(1); });
