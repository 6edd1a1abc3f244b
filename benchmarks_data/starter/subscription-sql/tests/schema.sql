CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    internal INTEGER NOT NULL DEFAULT 0 -- 1: one of our own accounts
);

CREATE TABLE plans (
    code TEXT PRIMARY KEY,
    cents_per_seat INTEGER NOT NULL -- per month
);

CREATE TABLE subscriptions (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    plan TEXT NOT NULL REFERENCES plans (code),
    seats INTEGER NOT NULL,
    started_on TEXT NOT NULL, -- dates are written YYYY-MM-DD
    ended_on TEXT,
    discount_percent INTEGER, -- NULL: no discount
    discount_until TEXT       -- NULL: no discount
);
