#!/bin/bash
# Move uploaded reports from the inbox to the archive.

INBOX=$1
ARCHIVE=$2
MOVED=0
FAILED=0

mkdir -p $ARCHIVE
cd $INBOX

find . -name "*.csv" | while read f; do
    mkdir -p $ARCHIVE/`dirname $f`
    cp $f $ARCHIVE/$f
    if [ $? = 0 ]; then
        MOVED=$((MOVED + 1))
    else
        FAILED=$((FAILED + 1))
    fi
    rm -f $f
done

echo "moved $MOVED, failed $FAILED"
