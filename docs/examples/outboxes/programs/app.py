# order service: stdio, one thread per request, pooled connections
import json, os, sys, uuid, threading, queue
import psycopg
URL = os.environ["OUTBOXTEST_POSTGRES_URL"]
pool = queue.LifoQueue(); out = threading.Lock()
STMT = os.environ.get("OUTBOX_INSERT", "INSERT INTO outbox (event_id, payload) VALUES (%s, %s)")
def reply(a):
    with out: print(json.dumps(a), flush=True)
def get():
    while True:
        try: c = pool.get_nowait()
        except queue.Empty: return psycopg.connect(URL)
        if not c.closed: return c
class Abort(Exception): pass
def handle(req):
    try:
        c = get()
        try:
            with c.transaction():
                c.execute("INSERT INTO orders (ref, customer) VALUES (%s, %s)", (req["order"], req["customer"]))
                c.execute(STMT, (str(uuid.uuid4()), json.dumps({"order": req["order"], "customer": req["customer"]})))
                if req["op"] == "abort": raise Abort
        except Abort: pass
        except BaseException:
            c.close(); raise
        pool.put(c)
        reply({"id": req["id"], "ok": True})
    except Exception as e:
        reply({"id": req["id"], "ok": False, "error": str(e)})
if __name__ == "__main__":
    ts = []
    for line in sys.stdin:
        t = threading.Thread(target=handle, args=(json.loads(line),)); t.start(); ts.append(t)
    for t in ts: t.join()
