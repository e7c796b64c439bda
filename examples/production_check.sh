#!/bin/sh
# What a pipeline asks before a mechanism goes into production: exit code 1 where a limit is broken.
# Run it in an empty folder: sh production_check.sh. It leaves certificate.json, audit.json and ledger.db.
set -eu

prior="never=0.61,past=0.24,daily=0.15"
mechanism="randomized-response:letters=never/past/daily,epsilon=0.02"

# No guess more than 1.05 times as likely, proven on exact integers for anyone to check again (leakwise verify).
leakwise certify "$mechanism" --prior "$prior" --lift 1.05 -o certificate.json

# Every day for ninety days: at most 4 times as likely in all.
leakwise envelope "$mechanism" --prior "$prior" --repeat 90 --delta 0.01 --fail-above 4 --json > audit.json

# The release is made elsewhere; the ledger counts it, and refuses it (exit code 2) beyond a budget.
leakwise ledger budget ledger.db --dataset visits --lift 4
leakwise ledger add ledger.db --dataset visits --secret smokes --mechanism "$mechanism" --prior "$prior"
