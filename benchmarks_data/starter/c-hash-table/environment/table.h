/* A hash table from strings to strings. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *key;
    char *value;
} Entry;

typedef struct {
    Entry *entries;
    size_t capacity; /* a power of two */
    size_t count;    /* keys in the table */
} Table;

void table_init(Table *table);
void table_free(Table *table);

/* The value of a key, or NULL. It stays valid until the key is set or deleted. */
const char *table_get(const Table *table, const char *key);

void table_set(Table *table, const char *key, const char *value);

/* Remove a key; false when it was not there. */
bool table_delete(Table *table, const char *key);

#endif
