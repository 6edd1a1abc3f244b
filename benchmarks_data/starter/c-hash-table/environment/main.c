/* kv: SET key value, GET key, DEL key and COUNT on standard input, one a line. */
#include <stdio.h>
#include <string.h>

#include "table.h"

static void run(Table *table, char *line)
{
    char *command = strtok(line, " ");
    char *key = strtok(NULL, " ");
    char *value = strtok(NULL, "");

    if (command == NULL)
        return;
    if (strcmp(command, "COUNT") == 0) {
        printf("%zu\n", table->count);
    } else if (strcmp(command, "GET") == 0 && key != NULL) {
        const char *found = table_get(table, key);
        puts(found != NULL ? found : "(nil)");
    } else if (strcmp(command, "DEL") == 0 && key != NULL) {
        puts(table_delete(table, key) ? "deleted" : "(nil)");
    } else if (strcmp(command, "SET") == 0 && key != NULL && value != NULL) {
        table_set(table, key, value);
        puts("ok");
    } else {
        puts("error");
    }
}

int main(void)
{
    char line[1024];
    Table table;

    table_init(&table);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        run(&table, line);
    }
    table_free(&table);
    return 0;
}
