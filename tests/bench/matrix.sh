# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every protocol beside a bare socket, measured by `rdmastor bench --matrix --all` itself; its table and pictures are kept.
# shellcheck shell=bash disable=SC2154 # from run

csv=$B/bench/matrix.csv
rm -f "$csv"
"$RDMASTOR" bench --matrix --all --bs 4K,64K --iodepth 1,8,32 --rounds "$rounds" --csv "$csv" --svg "$B/bench/matrix.svg" >"$B/bench/matrix.txt"
python3 - "$csv" <<'END'
import csv
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as table:
    for row in csv.DictReader(table):
        cell = f"{int(row['bs']) // 1024} KiB {row['rw']} QD{row['iodepth']}"
        who = "socket alone" if row["name"] == "socket" else "rdmastor " + row["name"] + (" again" if row["again"] == "1" else "")
        for metric, value in ("iops", float(row["iops"])), ("p50_us", int(row["p50_ns"]) / 1000), ("p99_us", int(row["p99_ns"]) / 1000):
            print("BENCH", cell, who, metric, row["round"], f"{value:.6g}", sep="\t")
END
