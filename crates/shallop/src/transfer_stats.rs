//! `--stats` of `send` and `receive`: the counters of this side as a table.

use serde_json::Value;
use shallop_quic::{CreditStats, PathStats};
use shallop_results::table::Grid;
use shallop_transfer::session::TransferReport;
use shallop_workbench::{TableForm, render};

/// Formats the counters of a transfer as a table, with a line end after its last line.
pub fn table(report: &TransferReport) -> String {
    let mut rows = vec![row("data leaves at the end", &report.leaves)];
    rows.extend(credits(&report.credits));
    rows.extend(lateness(&report.credits));
    rows.extend(path(&report.path));
    rows.extend(dropped(&report.credits));
    let grid = Grid::new("counted on this side, value", rows.into_iter().map(Vec::from), 1);
    format!("{}\n", render(&grid, TableForm::Text(None)))
}

fn row(name: &str, value: &dyn ToString) -> [String; 2] {
    [name.to_owned(), value.to_string()]
}

fn credits(of: &CreditStats) -> Vec<[String; 2]> {
    vec![
        row("emulation packets sent", &of.emulated),
        row("  without a credit, %", &percent(of.emulation_loss())),
        row("  of tests of the path, not counted above", &of.path_tests),
        row("credits granted", &of.granted),
        row("  used", &of.used),
        row("  wasted: nothing to send, or too late", &of.wasted),
        row("  skipped: this host was later than its slack", &of.skipped),
        row("credits sent to the peer", &of.credits_sent),
        row("data packets on credits", &of.data_packets),
        row("data packets without one", &of.without_credit),
        row("data packets unscheduled, before the first one", &of.unscheduled),
        row("datagrams that this host was too late to read", &of.unread),
    ]
}

fn lateness(of: &CreditStats) -> Vec<[String; 2]> {
    let [ten, hundred, thousand] = of.late;
    vec![
        row("credits more than 10 us late at this host", &ten),
        row("  more than 100 us", &hundred),
        row("  more than 1 ms", &thousand),
        row("  the latest, ms", &millis(of.latest_s)),
    ]
}

fn path(of: &PathStats) -> Vec<[String; 2]> {
    vec![
        row("QUIC packets sent", &of.packets_sent),
        row("  lost, %", &percent(of.loss())),
        row("questions whether the peer is at another address", &of.path_challenges),
        row("UDP payload of a full packet, bytes", &of.datagram),
        row("  lost probes for a larger one", &of.mtu_probes_lost),
        row("ECN is cleared on the way", if of.ecn_cleared { &"yes" } else { &"no" }),
        row("least round trip, ms", &millis(of.min_rtt_s)),
        row("smoothed round trip at the end, ms", &millis(of.smoothed_rtt_s)),
        row("queueing inferred at the end, ms", &millis(of.queueing_s())),
        row("  longest, ms", &millis(of.max_queueing_s())),
    ]
}

/// The numbers of dropped packets by reason, without reasons that did not occur.
fn dropped(of: &CreditStats) -> Vec<[String; 2]> {
    let mut rows = vec![row("dropped packets and stamps", &of.dropped.total())];
    if let Ok(Value::Object(reasons)) = serde_json::to_value(of.dropped) {
        let some = reasons.into_iter().filter(|(_, count)| count.as_u64() != Some(0));
        rows.extend(some.map(|(why, count)| row(&format!("  {}", why.replace('_', " ")), &count)));
    }
    rows
}

fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

fn millis(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_quic::SendMode;
    use shallop_quic::counters::DropCounters;
    use shallop_transfer::protocol::Summary;

    const ROWS: [(&str, &str); 29] = [
        ("emulation packets sent", "400"),
        ("without a credit, %", "25.00"),
        ("of tests of the path, not counted above", "212"),
        ("credits granted", "300"),
        ("used", "201"),
        ("wasted: nothing to send, or too late", "202"),
        ("skipped: this host was later than its slack", "203"),
        ("credits sent to the peer", "204"),
        ("data packets on credits", "205"),
        ("data packets without one", "206"),
        ("data packets unscheduled, before the first one", "210"),
        ("datagrams that this host was too late to read", "213"),
        ("data leaves at the end", "on credits"),
        ("credits more than 10 us late at this host", "209"),
        ("more than 100 us", "208"),
        ("more than 1 ms", "207"),
        ("the latest, ms", "12.300"),
        ("QUIC packets sent", "1000"),
        ("lost, %", "0.70"),
        ("questions whether the peer is at another address", "211"),
        ("UDP payload of a full packet, bytes", "1372"),
        ("lost probes for a larger one", "3"),
        ("ECN is cleared on the way", "yes"),
        ("least round trip, ms", "10.000"),
        ("smoothed round trip at the end, ms", "11.500"),
        ("queueing inferred at the end, ms", "1.500"),
        ("longest, ms", "2.500"),
        ("dropped packets and stamps", "23"),
        ("stamp late", "23"),
    ];

    #[test]
    fn every_count_is_in_the_table_and_reasons_only_where_something_was_dropped() {
        let credits = CreditStats {
            emulated: 400,
            path_tests: 212,
            granted: 300,
            used: 201,
            wasted: 202,
            skipped: 203,
            credits_sent: 204,
            dropped: DropCounters { stamp_late: 23, ..DropCounters::default() },
            data_packets: 205,
            without_credit: 206,
            unscheduled: 210,
            unread: 213,
            late: [209, 208, 207],
            latest_s: 0.0123,
            ..CreditStats::default()
        };
        let path = PathStats {
            min_rtt_s: 0.010,
            smoothed_rtt_s: 0.0115,
            max_smoothed_rtt_s: 0.0125,
            packets_sent: 1_000,
            packets_lost: 7,
            path_challenges: 211,
            datagram: 1_372,
            mtu_probes_lost: 3,
            ecn_cleared: true,
        };
        let (transfer, leaves) = (Summary::default(), SendMode::Credits);
        let report = TransferReport { transfer, on_credits: true, leaves, credits, path };
        let text = table(&report);
        for (name, value) in ROWS {
            let value = format!(" {value}");
            let found = text.lines().any(|line| line.trim().starts_with(name) && line.trim().ends_with(&value));
            assert!(found, "{name}{value} is not in:\n{text}");
        }
        assert!(!text.contains("unknown"), "{text}");
    }
}
