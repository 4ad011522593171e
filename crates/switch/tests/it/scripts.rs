//! Ports under scripts: packets are offered at given times. The snapshot has what becomes of them.
//!
//! A paragraph of `ports.txt` is a script: `port NAME`, lines that describe the port ([`bench`]), and steps. A step has
//! a time, a number of packets, and words: a class (data), `size=` (1538), `flow=` (0), an ECN codepoint (`ect`), and
//! `every=`, the time between them. `{A|B}` stands for A in a first run and for B in a second one. Packets have numbers
//! in the order in which they are offered. Times in the snapshot are in microseconds.

use crate::support::{Arrival, Bench, bench, class, packet, time, value};
use shallop_core::{Class, DropCause, Ecn, End, Packet, Span, Time};
use shallop_switch::Fate;
use std::fmt::Display;

/// Items with spaces between them; of a long list the first and the last ones, with the number of all.
fn brief(items: impl IntoIterator<Item = impl Display>) -> String {
    let all: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if all.len() <= 24 {
        return all.join(" ");
    }
    format!("{} ... {} ({})", all[..20].join(" "), all[all.len() - 2..].join(" "), all.len())
}

/// Numbers, with `-` for successive ones.
fn runs(numbers: impl IntoIterator<Item = u32>) -> String {
    let all: Vec<u32> = numbers.into_iter().collect();
    let run = |run: &[u32]| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    brief(all.chunk_by(|a, b| a + 1 == *b).map(run))
}

/// Times in microseconds, with `x` and the number of times that are equal.
fn times(times: impl IntoIterator<Item = Time>) -> String {
    let all: Vec<Time> = times.into_iter().collect();
    brief(all.chunk_by(|a, b| a == b).map(|equal| {
        let us = equal[0].since_start().as_ps() as f64 / 1e6;
        if equal.len() > 1 { format!("{us}x{}", equal.len()) } else { us.to_string() }
    }))
}

/// Numbers by what became of each.
fn fates<T: PartialEq + Display>(all: &[(u32, T)]) -> String {
    let fate = |equal: &[(u32, T)]| format!("{} {}", runs(equal.iter().map(|it| it.0)), equal[0].1);
    let all: Vec<String> = all.chunk_by(|a, b| a.1 == b.1).map(fate).collect();
    all.join(", ")
}

/// The packets of a step, which have numbers from `first` on, with their times.
fn packets(step: &str, first: u32) -> Vec<(Time, Packet<u32>)> {
    let mut words = step.split(' ');
    let (mut at, count) = (time(words.next().unwrap_or_default()), words.next().map_or(0, value::<u32>));
    let (mut model, mut every) = (packet(Class::Data, 1538, Ecn::Ect, first), Span::ZERO);
    for word in words {
        match word.split_once('=') {
            Some(("size", size)) => model.envelope.size = value(size),
            Some(("flow", flow)) => model.envelope.end = End(value(flow)),
            Some(("every", span)) => every = value(span),
            _ => match [Ecn::NotEct, Ecn::Ect, Ecn::Ect1, Ecn::Ce].iter().find(|it| format!("{it:?}") == word) {
                Some(ecn) => model.envelope.ecn = *ecn,
                None => model.envelope.class = class(word).unwrap_or_else(|| panic!("{word:?} in {step}")),
            },
        }
    }
    let mut next = |cargo| {
        let this = (at, Packet { cargo, ..model });
        at += every;
        this
    };
    (first..first + count).map(&mut next).collect()
}

/// What has happened at a port that is empty now.
fn summary(port: &mut Bench, arrivals: &[Arrival]) -> Vec<String> {
    let mut lines = vec![
        format!("order: {}", runs(arrivals.iter().map(|it| it.1.cargo))),
        format!("times: {}", times(arrivals.iter().map(|it| it.0))),
    ];
    let ce = arrivals.iter().filter(|it| it.1.envelope.ecn == Ecn::Ce);
    lines.push(format!("CE: {}; marks: {}", runs(ce.map(|it| it.1.cargo)), port.probe.marks.len()));
    if arrivals.iter().any(|it| it.2 != Fate::Arrives) {
        let all: Vec<_> = arrivals.iter().map(|it| (it.1.cargo, format!("{:?}", it.2).to_lowercase())).collect();
        lines.push(format!("fates: {}", fates(&all)));
    }
    let drops = port.probe.drops.chunk_by(|a, b| (a.1, a.2.end, a.2.class, a.3) == (b.1, b.2.end, b.2.class, b.3));
    for equal in drops {
        let (_, queue, envelope, cause) = equal[0];
        let (class, flow, at) = (envelope.class.name(), envelope.end.0, times(equal.iter().map(|it| it.0)));
        lines.push(format!("{} {class} of flow {flow} in queue {queue}: {at}", cause.name()));
    }
    let (told, counters) = (brief(port.port.take_dropped().map(|end| end.0)), port.port.counters());
    let [sent, dropped, lost] = [counters.sent, counters.dropped, counters.lost].map(|all| all.iter().sum::<u64>());
    let (until, held, queued) = (times([port.port.free_at()]), port.held(), port.port.queued());
    lines.push(format!("{sent} sent ({} B, until {until}), {dropped} dropped, {lost} lost", counters.bytes));
    lines.push(format!("{held} held, {queued} queued; ends told of drops: {told}"));
    lines
}

/// Runs a script. Returns what its snapshot has.
fn run(lines: &[&str]) -> String {
    let (steps, port): (Vec<&str>, Vec<&str>) =
        lines.iter().copied().partition(|line| line.starts_with(|it: char| it.is_ascii_digit()));
    let (mut bench, mut arrivals, mut number) = (bench(&port.join("\n")), vec![], 0);
    let mut told: Vec<String> = port.into_iter().map(str::to_owned).collect();
    for step in steps {
        let mut taken = vec![];
        for (at, packet) in packets(step, number) {
            arrivals.extend(bench.drain_until(at));
            taken.push((packet.cargo, bench.offer(at, &packet).map_or_else(DropCause::name, |()| "taken")));
            number = packet.cargo + 1;
        }
        told.push(format!("{step}: {}; {} queued", fates(&taken), bench.port.queued()));
    }
    arrivals.extend(bench.drain());
    told.extend(summary(&mut bench, &arrivals));
    told.join("\n    ")
}

/// The text with the alternative of this number in place of each list of alternatives; `None` if there are fewer.
fn alternative(text: &str, number: usize) -> Option<String> {
    let mut parts = text.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut is_there = number == 0;
    for part in parts {
        let (list, rest) = part.split_once('}').expect("a closing brace");
        is_there |= list.split('|').count() > number;
        out += list.split('|').nth(number).unwrap_or_default();
        out += rest;
    }
    is_there.then_some(out)
}

#[test]
fn ports_do_what_the_snapshot_says() {
    let mut told = Vec::new();
    for paragraph in include_str!("ports.txt").split("\n\n") {
        for text in (0..).map_while(|number| alternative(paragraph, number)) {
            let mut lines = text.lines().filter(|line| !line.starts_with('#'));
            let name = lines.next().expect("a name");
            told.push(format!("{name}\n    {}", run(&lines.collect::<Vec<_>>())));
        }
    }
    insta::assert_snapshot!(told.join("\n\n"));
}
