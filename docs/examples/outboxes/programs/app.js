// order service in Node. MODE: '' | notify | cte
const { Pool } = require('pg'); const { randomUUID } = require('crypto'); const rl = require('readline');
const pool = new Pool({ connectionString: process.env.OUTBOXTEST_POSTGRES_URL, max: 5 });
pool.on('error', e => console.error('idle client', e.message));
const MODE = process.env.MODE || '';
async function place(r) {
  const eid = randomUUID(), payload = JSON.stringify({ order: r.order, customer: r.customer });
  if (MODE === 'cte') { // a single statement in autocommit
    await pool.query(`WITH o AS (INSERT INTO orders (ref, customer) VALUES ($1, $2) RETURNING id)
      INSERT INTO outbox (event_id, payload) SELECT $3::uuid, $4::jsonb FROM o`, [r.order, r.customer, eid, payload]);
    return;
  }
  const c = await pool.connect(); c.on('error', () => {});
  let err;
  try {
    await c.query('BEGIN');
    await c.query('INSERT INTO orders (ref, customer) VALUES ($1, $2)', [r.order, r.customer]);
    await c.query('INSERT INTO outbox (event_id, payload) VALUES ($1, $2)', [eid, payload]);
    await c.query(r.op === 'abort' ? 'ROLLBACK' : 'COMMIT');
  } catch (e) { err = e; throw e; } finally { c.release(err); }
}
let busy = 0, ended = false;
const done = () => { if (ended && !busy) process.exit(0); };
rl.createInterface({ input: process.stdin }).on('line', l => {
  const r = JSON.parse(l); busy++;
  place(r).then(() => ({ id: r.id, ok: true }), e => ({ id: r.id, ok: false, error: e.message || String(e) }))
    .then(a => process.stdout.write(JSON.stringify(a) + '\n', () => { busy--; done(); }));
}).on('close', () => { ended = true; done(); });
