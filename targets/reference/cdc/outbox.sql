CREATE TABLE orders (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ref      text   NOT NULL UNIQUE,
    customer text   NOT NULL
);

CREATE TABLE outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id   text        NOT NULL UNIQUE,
    payload    json        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The relay reads the inserts alone: the cleanup's deletes are no events.
CREATE PUBLICATION events FOR TABLE outbox WITH (publish = 'insert');

-- The slots whose table has been read up to their beginning.
CREATE TABLE relay_slots (
    slot_name text PRIMARY KEY
);

CREATE TABLE deduplication (
    event_id text NOT NULL,
    consumer text NOT NULL,
    PRIMARY KEY (event_id, consumer)
);

CREATE TABLE effects (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id  text NOT NULL,
    consumer  text NOT NULL,
    order_ref text NOT NULL
);
