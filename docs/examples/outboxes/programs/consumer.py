# consumer: MODE good | ackfirst | memory
import asyncio, os, sys, json
import nats, psycopg
MODE = os.environ.get("MODE", "good"); NAME = os.environ.get("NAME", "billing")
ACKWAIT = os.environ.get("ACKWAIT")
seen = set()
async def db():
    while True:
        try: return await psycopg.AsyncConnection.connect(os.environ["OUTBOXTEST_POSTGRES_URL"])
        except psycopg.Error as e: print("db", e, file=sys.stderr); await asyncio.sleep(.1)
async def main():
    nc = await nats.connect(os.environ["OUTBOXTEST_BROKER_URL"], max_reconnect_attempts=-1, reconnect_time_wait=0.2)
    js = nc.jetstream()
    cfg = nats.js.api.ConsumerConfig(ack_wait=float(ACKWAIT)) if ACKWAIT else None
    while True:
        try:
            sub = await js.pull_subscribe(os.environ["OUTBOXTEST_TOPIC"], durable=NAME, stream=os.environ["OUTBOXTEST_STREAM"], config=cfg); break
        except Exception as e: print("subscribe", repr(e), file=sys.stderr); await asyncio.sleep(.2)
    c = await db()
    while True:
        try: msgs = await sub.fetch(10, timeout=1)
        except (nats.errors.TimeoutError, asyncio.TimeoutError): continue
        except Exception as e: print("fetch", repr(e), file=sys.stderr); await asyncio.sleep(.1); continue
        for m in msgs:
            eid = m.header["Event-Id"]
            try:
                if MODE == "ackfirst": await m.ack()
                if MODE == "memory":
                    if eid in seen: await m.ack(); continue
                    await c.execute("INSERT INTO effects (event_id, consumer) VALUES (%s,%s)", (eid, NAME)); await c.commit()
                    seen.add(eid)
                else:
                    async with c.transaction():
                        cur = await c.execute("INSERT INTO seen (event_id, consumer) VALUES (%s,%s) ON CONFLICT DO NOTHING", (eid, NAME))
                        if cur.rowcount: await c.execute("INSERT INTO effects (event_id, consumer) VALUES (%s,%s)", (eid, NAME))
                if MODE != "ackfirst": await m.ack()
            except psycopg.Error as e:
                print("apply", e, file=sys.stderr)
                await c.close(); c = await db()
                if MODE != "ackfirst":
                    try: await m.nak()
                    except Exception: pass
            except Exception as e: print("other", repr(e), file=sys.stderr)
asyncio.run(main())
