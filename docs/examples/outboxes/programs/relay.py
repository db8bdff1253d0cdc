# relay: MODE lease | lease-stuck | delete-first | delete-after | async-acks | async-mark-early | random-id
import asyncio, os, sys, json, uuid, socket
import nats, psycopg
MODE = os.environ["MODE"]; ME = f"{os.getpid()}-{uuid.uuid4().hex[:6]}"
TOPIC = os.environ["OUTBOXTEST_TOPIC"]
log = lambda *a: print(*a, file=sys.stderr, flush=True)
def hdr(eid): return {"Event-Id": str(uuid.uuid4()) if MODE == "random-id" else str(eid)}
def body(p): return (p if isinstance(p, str) else json.dumps(p)).encode()
async def once(c, js):
    if MODE in ("lease", "lease-stuck"):
        if MODE == "lease":
            q = """UPDATE outbox SET locked_until = now() + interval '3 seconds', locked_by = %s WHERE id IN (
                SELECT id FROM outbox WHERE published_at IS NULL AND (locked_until IS NULL OR locked_until < now())
                ORDER BY id LIMIT 10 FOR UPDATE SKIP LOCKED) RETURNING id, event_id, payload"""
        else:
            q = """UPDATE outbox SET status = 'processing', locked_by = %s WHERE id IN (
                SELECT id FROM outbox WHERE status = 'new' ORDER BY id LIMIT 10 FOR UPDATE SKIP LOCKED) RETURNING id, event_id, payload"""
        rows = await (await c.execute(q, (ME,))).fetchall(); await c.commit()
        for id, eid, p in rows:
            try: await js.publish(TOPIC, body(p), headers=hdr(eid), timeout=2)
            except Exception as e:
                log("publish", repr(e))
                if MODE == "lease": await c.execute("UPDATE outbox SET locked_until = NULL WHERE id = %s AND locked_by = %s", (id, ME))
                else: await c.execute("UPDATE outbox SET status = 'new' WHERE id = %s", (id,))
                await c.commit(); continue
            if MODE == "lease": await c.execute("UPDATE outbox SET published_at = now() WHERE id = %s", (id,))
            else: await c.execute("UPDATE outbox SET status = 'done' WHERE id = %s", (id,))
            await c.commit()
        return len(rows)
    if MODE == "delete-first":
        rows = await (await c.execute("DELETE FROM outbox WHERE id IN (SELECT id FROM outbox ORDER BY id LIMIT 10 FOR UPDATE SKIP LOCKED) RETURNING id, event_id, payload")).fetchall()
        await c.commit()
        for id, eid, p in rows:
            for i in range(5):
                try: await js.publish(TOPIC, body(p), headers=hdr(eid), timeout=2); break
                except Exception as e: log("publish", repr(e)); await asyncio.sleep(.2)
        return len(rows)
    sel = "SELECT id, event_id, payload FROM outbox %s ORDER BY id LIMIT 50 FOR UPDATE SKIP LOCKED"
    if MODE == "delete-after":
        rows = await (await c.execute(sel % "")).fetchall()
        for id, eid, p in rows:
            await js.publish(TOPIC, body(p), headers=hdr(eid), timeout=2)
            await c.execute("DELETE FROM outbox WHERE id = %s", (id,))
        await c.commit(); return len(rows)
    if MODE == "random-id":
        rows = await (await c.execute(sel % "WHERE published_at IS NULL")).fetchall()
        for id, eid, p in rows:
            await js.publish(TOPIC, body(p), headers=hdr(eid), timeout=2)
            await c.execute("UPDATE outbox SET published_at = now() WHERE id = %s", (id,))
        await c.commit(); return len(rows)
    if MODE == "async-acks":
        rows = await (await c.execute(sel % "WHERE published_at IS NULL")).fetchall()
        res = await asyncio.gather(*[js.publish(TOPIC, body(p), headers=hdr(e), timeout=2) for _, e, p in rows], return_exceptions=True)
        ok = [r[0] for r, x in zip(rows, res) if not isinstance(x, BaseException)]
        if ok: await c.execute("UPDATE outbox SET published_at = now() WHERE id = ANY(%s)", (ok,))
        await c.commit(); return len(ok)
    if MODE == "async-mark-early":
        rows = await (await c.execute(sel % "WHERE published_at IS NULL")).fetchall()
        futs = [await js.publish_async(TOPIC, body(p), headers=hdr(e)) for _, e, p in rows]
        if rows: await c.execute("UPDATE outbox SET published_at = now() WHERE id = ANY(%s)", ([r[0] for r in rows],))
        await c.commit()
        for r, f in zip(rows, await asyncio.gather(*futs, return_exceptions=True)):
            if isinstance(f, BaseException): log("NOT ACKED", r[0], repr(f))
        return len(rows)
async def main():
    nc = await nats.connect(os.environ["OUTBOXTEST_BROKER_URL"], max_reconnect_attempts=-1, reconnect_time_wait=0.2)
    js = nc.jetstream(); c = None
    while True:
        try:
            if c is None or c.closed: c = await psycopg.AsyncConnection.connect(os.environ["OUTBOXTEST_POSTGRES_URL"])
            n = await once(c, js)
        except Exception as e:
            log("relay", repr(e)); n = 0
            if c is not None: await c.close()
            c = None
        if not n: await asyncio.sleep(.2)
asyncio.run(main())
