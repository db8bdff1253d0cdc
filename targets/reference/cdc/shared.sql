CREATE TABLE orders (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ref      text   NOT NULL UNIQUE,
    customer text   NOT NULL
);

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
