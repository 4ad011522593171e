//! What is printed: tables in Markdown.

use crate::measure::Transfer;
use crate::worker::Stack;

/// Medians of transfers of these kinds, in turn, and their ratios to the last one.
pub fn costs(stacks: &[Stack], all: &[Vec<Transfer>]) {
    println!(
        "| transfer | Gb/s | sender, s/Gb | its driver alone | receiver, s/Gb | both beside quinn |"
    );
    println!("|---|---|---|---|---|---|");
    let both = |of: &Transfer| of.costs()[0] + of.costs()[2];
    let last = all.last().map_or(&[][..], Vec::as_slice);
    for (stack, of) in stacks.iter().zip(all) {
        let rate = median(of.iter().map(Transfer::rate));
        let [sender, driver, receiver] =
            [0, 1, 2].map(|part| median(of.iter().map(|of| of.costs()[part])));
        // Those that were measured one after the other.
        let ratio = median(of.iter().zip(last).map(|(one, other)| both(one) / both(other)));
        let name = stack.name();
        println!("| {name} | {rate:.2} | {sender:.3} | {driver:.3} | {receiver:.3} | {ratio:.2} |");
    }
}

/// The head of the table of rates.
pub fn sweep_head() {
    println!(
        "| link, Mb/s | slack, us | payload, Mb/s | skipped | too late | emulation lost, % | data lost, % | late, us: half | 99 % | most | driver, % | \
         sender, % | receiver, % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
}

/// A rate.
pub fn sweep_row(link: u64, slack: u64, of: &Transfer) {
    let credits = of.sent.credits.unwrap_or_default();
    let [emulation, data] = credits.lost;
    let [half, most_of, most] = credits.lateness;
    let (sent, received) = (&of.sent.usage, &of.received.usage);
    let [driver, sender, receiver] = [
        sent.driver / sent.elapsed,
        sent.total() / sent.elapsed,
        received.total() / received.elapsed,
    ]
    .map(|part| part * 100.0);
    println!(
        "| {link} | {slack} | {:.0} | {} | {} | {emulation:.1} | {data:.2} | {half:.0} | {most_of:.0} | {most:.0} | {driver:.0} | {sender:.0} | \
         {receiver:.0} |",
        of.rate() * 1e3,
        credits.skipped,
        credits.wasted,
    );
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
