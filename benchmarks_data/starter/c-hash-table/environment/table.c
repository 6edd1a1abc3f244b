/* Open addressing with linear probing; at most three quarters of the slots are in use. */
#include "table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 8

static void *checked(void *memory)
{
    if (memory == NULL) {
        fputs("kv: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(checked(malloc(size)), text, size);
}

static uint32_t hash(const char *key)
{
    uint32_t value = 2166136261u;
    for (const unsigned char *c = (const unsigned char *)key; *c != '\0'; c++) {
        value ^= *c;
        value *= 16777619u;
    }
    return value;
}

/* The slot that holds the key, or the free one where it would go. */
static Entry *find(Entry *entries, size_t capacity, const char *key)
{
    size_t index = hash(key) & (capacity - 1);
    while (entries[index].key != NULL && strcmp(entries[index].key, key) != 0)
        index = (index + 1) & (capacity - 1);
    return &entries[index];
}

static void grow(Table *table)
{
    size_t capacity = table->capacity * 2;
    Entry *entries = checked(calloc(capacity, sizeof(Entry)));
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].key != NULL)
            *find(entries, capacity, table->entries[i].key) = table->entries[i];
    free(table->entries);
    table->entries = entries;
    table->capacity = capacity;
}

void table_init(Table *table)
{
    table->capacity = FIRST_CAPACITY;
    table->count = 0;
    table->entries = checked(calloc(FIRST_CAPACITY, sizeof(Entry)));
}

void table_free(Table *table)
{
    for (size_t i = 0; i < table->capacity; i++) {
        free(table->entries[i].key);
        free(table->entries[i].value);
    }
    free(table->entries);
}

const char *table_get(const Table *table, const char *key)
{
    return find(table->entries, table->capacity, key)->value;
}

void table_set(Table *table, const char *key, const char *value)
{
    Entry *entry = find(table->entries, table->capacity, key);
    if (entry->key == NULL) {
        if ((table->count + 1) * 4 > table->capacity * 3) {
            grow(table);
            entry = find(table->entries, table->capacity, key);
        }
        entry->key = copy_of(key);
        table->count++;
    }
    free(entry->value);
    entry->value = copy_of(value);
}

bool table_delete(Table *table, const char *key)
{
    Entry *entry = find(table->entries, table->capacity, key);
    if (entry->key == NULL)
        return false;
    free(entry->key);
    free(entry->value);
    entry->key = NULL;
    entry->value = NULL;
    table->count--;
    return true;
}
