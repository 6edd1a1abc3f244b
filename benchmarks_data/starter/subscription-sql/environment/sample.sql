INSERT INTO customers (id, name, internal) VALUES
    (1, 'Adebayo Logistics', 0),
    (2, 'Birch & Sons', 0),
    (3, 'Cobalt Labs', 0),
    (4, 'Demo account', 1),
    (5, 'Elm Street Bakery', 0);

INSERT INTO plans (code, cents_per_seat) VALUES
    ('basic', 990),
    ('team', 1890),
    ('business', 3499);

INSERT INTO subscriptions VALUES
    (1, 1, 'team', 12, '2023-06-15', NULL, NULL, NULL),
    (2, 2, 'basic', 3, '2024-01-31', '2024-05-01', NULL, NULL),
    (3, 2, 'team', 3, '2024-05-01', NULL, 15, '2024-08-01'),
    (4, 3, 'business', 7, '2023-11-02', '2024-02-29', NULL, NULL),
    (5, 3, 'basic', 1, '2024-09-10', NULL, 33, '2025-09-10'),
    (6, 4, 'business', 50, '2023-01-01', NULL, NULL, NULL),
    (7, 5, 'basic', 2, '2024-03-05', '2024-03-20', NULL, NULL),
    (8, 1, 'basic', 4, '2024-07-01', '2024-10-31', NULL, NULL);
