//! Prints results as Markdown tables.

use crate::{measure::Transfer, worker::Stack};

fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

fn head(cells: &[&str]) {
    row(&cells.iter().map(|&of| of.to_owned()).collect::<Vec<_>>());
    println!("|{}", "---|".repeat(cells.len()));
}

/// Prints medians of each kind of transfer, and ratios to the last kind.
pub fn costs(stacks: &[Stack], all: &[Vec<Transfer>]) {
    let costs = ["sender, s/Gb", "its driver alone, s/Gb", "receiver, s/Gb", "both beside quinn"];
    head(&[&["transfer", "payload, Gb/s"][..], &costs].concat());
    let both = |of: &Transfer| of.costs()[0] + of.costs()[2];
    let last = all.last().map_or(&[][..], Vec::as_slice);
    for (stack, of) in stacks.iter().zip(all) {
        let costs = [0, 1, 2].map(|part| median(of.iter().map(|of| of.costs()[part])));
        // Transfers of one turn.
        let ratio = median(of.iter().zip(last).map(|(one, other)| both(one) / both(other)));
        let mut cells = vec![stack.name(), format!("{:.2}", median(of.iter().map(Transfer::rate)))];
        cells.extend(costs.map(|cost| format!("{cost:.3}")));
        cells.push(format!("{ratio:.2}"));
        row(&cells);
    }
}

/// Prints the head of the table of rates.
pub fn sweep_head() {
    let credits = ["skipped", "too late", "emulation lost, %", "data lost, %"];
    let late = ["late, us: half", "99 %", "most"];
    let busy = ["driver, %", "sender, %", "receiver, %"];
    let first = ["link, Mb/s", "slack, us", "payload, Mb/s"];
    head(&[&first[..], &credits, &late, &busy].concat());
}

/// Prints a row of the table of rates.
pub fn sweep_row(link: u64, slack: u64, of: &Transfer) {
    let credits = of.sent.credits.unwrap_or_default();
    let mut cells = vec![link.to_string(), slack.to_string(), format!("{:.0}", of.rate() * 1e3)];
    cells.extend([credits.skipped, credits.wasted].map(|count| count.to_string()));
    cells.extend(credits.lost.map(|part| format!("{part:.2}")));
    cells.extend(credits.lateness.map(|us| format!("{us:.0}")));
    let (sent, received) = (&of.sent.usage, &of.received.usage);
    let busy = [(sent.driver, sent), (sent.total(), sent), (received.total(), received)];
    cells.extend(busy.map(|(time, of)| format!("{:.0}", time / of.elapsed * 100.0)));
    row(&cells);
}

fn median(of: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = of.collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    match all.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => f64::midpoint(all[middle - 1], all[middle]),
        _ => all[middle],
    }
}
