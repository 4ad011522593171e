# Functions for commands of scripts.

# Waits until a condition holds, for a minute or so many seconds.
soon() {
    local end=$((SECONDS + ${2-60}))
    until eval "$1"; do
        if [ $SECONDS -ge $end ]; then echo "never: $1" >&2; return 1; fi
        sleep 0.02
    done
}

# Whether a process has not ended.
goes_on() { ps -o stat= -p "$1" | grep -qv Z; }

# The value of an expression.
value() { awk "BEGIN { printf \"%.9g\", $1 }"; }

# The length of a file's partial file in `inbox`; 0 if there is none.
part() { stat -c %s "inbox/$1".*.shallop-part 2> /dev/null || echo 0; }

# A text without the lines that differ between equal runs.
timeless() { grep -v '"wall_s"' "$1"; }

# Fails unless two folders have equal results.
same_results() {
    diff <(timeless "$1/summary.json") <(timeless "$2/summary.json") >&2
    cmp "$1/flows.parquet" "$2/flows.parquet"
    cmp "$1/series.parquet" "$2/series.parquet"
}

# Digests of the finished runs in a folder: of all files, or of those with this ending.
runs() { (cd "$1/runs" && sha256sum -- *"${2-}" | sort); }
