#!/bin/bash
set -e
cd "${APP_DIR:-/app}"

cat > query.sql <<'SQL'
WITH RECURSIVE
ends (last_day) AS (
    SELECT '2023-12-31'
    UNION ALL
    SELECT date(last_day, '+1 day', '+1 month', '-1 day') FROM ends WHERE last_day < '2024-12-31'
),
active AS (
    SELECT
        ends.last_day,
        s.customer_id,
        CASE
            WHEN s.discount_percent IS NOT NULL AND ends.last_day < s.discount_until
                THEN p.cents_per_seat * s.seats * (100 - s.discount_percent) / 100
            ELSE p.cents_per_seat * s.seats
        END AS cents
    FROM ends
    JOIN subscriptions AS s
        ON s.started_on <= ends.last_day AND (s.ended_on IS NULL OR s.ended_on > ends.last_day)
    JOIN customers AS c ON c.id = s.customer_id AND c.internal = 0
    JOIN plans AS p ON p.code = s.plan
)
SELECT
    substr(ends.last_day, 1, 7) AS month,
    (SELECT count(DISTINCT customer_id) FROM active WHERE last_day = ends.last_day) AS customers,
    (SELECT coalesce(sum(cents), 0) FROM active WHERE last_day = ends.last_day) AS mrr_cents,
    (
        SELECT count(DISTINCT customer_id) FROM active
        WHERE last_day = date(ends.last_day, 'start of month', '-1 day')
            AND customer_id NOT IN (
                SELECT customer_id FROM active AS now WHERE now.last_day = ends.last_day
            )
    ) AS churned
FROM ends
WHERE ends.last_day >= '2024-01-01'
ORDER BY month;
SQL
python3 run_query.py
