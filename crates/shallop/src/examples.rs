//! The examples at the end of each `--help`. A test parses every line that begins with `shallop` as a command.

pub const ALL: &str = "\
Begin with:
  shallop new                         # asks a few questions, writes scenario.toml
  shallop run scenario.toml
  shallop reproduce                   # the papers' experiments, with a time estimate on each

The pages under docs say more: quick-start.md, concepts.md, transports.md.";

pub const NEW: &str = "\
Examples:
  shallop new                         # asks
  shallop new --topology dumbbell --transport cubic,flashpass --traffic long
  shallop new --topology leaf-spine --transport dctcp --traffic mixed --out fabric.toml
  shallop new --network sites.csv --transport cubic --transport flashpass --out sites.toml";

pub const RUN: &str = "\
Examples:
  shallop run scenario.toml
  shallop run scenario.toml --quick
  shallop run scenario.toml --set topology.senders=200 --set duration=2s
  shallop run scenario.toml --out results --json > summary.json
  shallop run scenario.toml --record flows=1ms --out results  # cwnd and more of each flow, in series.parquet";

pub const REPRODUCE: &str = "\
Examples:
  shallop reproduce                   # lists them
  shallop reproduce fp-fig10a
  shallop reproduce fp-crush fp-fig5 --jobs 2 --out results
  shallop reproduce all --quick";

pub const SWEEP: &str = "\
Examples:
  shallop sweep scenario.toml --vary switch.default.buffer=20KB/Gbps,200KB/Gbps --seeds 5 --out results
  shallop sweep scenario.toml --vary topology.senders=10,100 --vary topology.rate=1Gbps,10Gbps
  shallop sweep scenario.toml --vary topology.senders=10,100 --shard 1/4 --out results";

pub const COMPARE: &str = "\
Examples:
  shallop compare before after                # two folders that were given to --out
  shallop compare small.toml large.toml --out compared
  shallop compare results --scheme cubic --with dctcp";

pub const REPORT: &str = "\
Examples:
  shallop report results
  shallop report results --json > figures.json";

pub const EXPORT: &str = "\
Examples:
  shallop export results              # lists the tables and their columns
  shallop export results --table links > links.csv
  shallop export results --table flows --format parquet --out flows-with-swept-keys.parquet";

pub const CHECK: &str = "\
Examples:
  shallop check scenario.toml
  shallop check scenario.toml --explain
  shallop check scenario.toml --explain --all
  shallop check scenario.toml --set switch.default.chip=tomahawk --explain
  shallop check scenario.toml --vary topology.senders=10,100 --seeds 3 --runs";

pub const SCHEMA: &str = "\
Examples:
  shallop schema > scenario.schema.json
  shallop schema --results > summary.schema.json
  shallop schema --columns";

pub const CHIPS: &str = "\
Examples:
  shallop chips
  shallop chips --json";

pub const KERNEL: &str = "\
Examples:
  shallop kernel build
  shallop kernel module fixed.c
  shallop kernel list
  shallop kernel test";

pub const REHEARSE: &str = "\
Examples:
  shallop rehearse scenario.toml
  shallop rehearse scenario.toml --schemes cubic --set topology.rate=200Mbps --seeds 5 --out results";

pub const AGREE: &str = "\
Examples:
  shallop agree scenario.toml --seeds 5
  shallop agree scenario.toml --schemes cubic,bbr --out results";

pub const TAPE: &str = "\
Examples:
  shallop rehearse scenario.toml --schemes cubic --tape cubic.tape
  shallop tape show cubic.tape
  shallop tape replay cubic.tape scenario.toml";

pub const DOCTOR: &str = "\
Examples:
  shallop doctor
  shallop doctor --bench --json";

pub const SHELL: &str = "\
Examples:
  shallop shell scenario.toml --host s0
  shallop shell scenario.toml -- ping -c 3 r0
  shallop shell scenario.toml --virtual
  echo 'ping -c 3 r0' | shallop shell scenario.toml --virtual --host s1";

pub const HOST: &str = "\
Examples:
  shallop host load gemini --capacity 10Gbps --mark 50pkt --delay 5ms
  shallop host load gemini --config scenario.toml --scheme gemini --to 10.0.0.0/8 --to fd00::/16
  shallop host load dctcp --name dctcp_bpf
  shallop host set gemini delay=20ms --to 203.0.113.0/24
  shallop host watch gemini --json --once
  shallop host load gemini --capacity 10Gbps --print-unit > /etc/systemd/system/gemini.service
  shallop host unload gemini";

#[cfg(target_os = "linux")]
pub const EDGE: &str = "\
Examples:
  shallop edge clean attach wlan0
  shallop edge clean attach eth0 --role edge
  shallop edge clean attach eth1 --rate 850Mbps --mark 150pkt --set decrease=half
  shallop edge clean watch wlan0 --json --once
  shallop edge clean set wlan0 min_window=4
  shallop edge clean detach wlan0";

#[cfg(target_os = "linux")]
pub const SEND: &str = "\
Examples:
  shallop send backup.tar 10.0.0.2
  shallop send photos notes.txt server:4747 --rate-limit 10Gbps --wait 20ms
  shallop send photos server --trust-new --json
  shallop send photos server --without-credits
  shallop send --for 10s server --rate-limit 10Gbps --stats";

#[cfg(target_os = "linux")]
pub const RECEIVE: &str = "\
Examples:
  shallop receive inbox
  shallop receive inbox --bind 0.0.0.0:9000 --once --overwrite
  shallop receive inbox --rate-limit 10Gbps --wait 20ms";

#[cfg(target_os = "linux")]
pub const PING: &str = "\
Examples:
  shallop ping 10.0.0.2
  shallop ping --flashpass server --rate-limit 1Gbps --wait 20ms
  shallop ping --listen --bind 0.0.0.0:9000";

pub const BENCH: &str = "\
Examples:
  shallop bench
  shallop bench --only cubic --json";

pub const COMPLETIONS: &str = "\
Examples:
  shallop completions bash > /etc/bash_completion.d/shallop
  shallop completions zsh > ~/.zfunc/_shallop
  shallop completions fish > ~/.config/fish/completions/shallop.fish";

pub const MAN: &str = "\
Examples:
  shallop man /usr/local/share/man/man1";
