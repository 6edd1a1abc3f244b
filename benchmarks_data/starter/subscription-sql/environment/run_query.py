"""Run query.sql on the sample rows and print what it returns."""

import sqlite3
from pathlib import Path

database = sqlite3.connect(":memory:")
for name in ("schema.sql", "sample.sql"):
    database.executescript(Path(name).read_text())

cursor = database.execute(Path("query.sql").read_text())
print(*(column[0] for column in cursor.description), sep="\t")
for row in cursor:
    print(*row, sep="\t")
