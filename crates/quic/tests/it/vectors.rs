//! Known answers: `vectors/packets.csv` and `vectors/messages.csv` are encoded and decoded by this crate.
//! `UPDATE_VECTORS=1` writes the files; `vectors/check.py` checks them without this crate. The page docs/quic-wire.md
//! shows some of their rows.

#![allow(clippy::disallowed_methods, reason = "the vectors are a file of the repository")]

use shallop_core::{Seed, Span, Stream};
use shallop_quic::notice::DscpNotice;
use shallop_quic::packet::{Credit, Emulation, MAX_STAMPS, MacKey, Packet, Parsed, Stamp, step_of, time_of};
use shallop_quic::settings::CreditSettings;
use std::fmt::Write;

const VECTORS: &str = include_str!("../../vectors/packets.csv");
const MESSAGES: &str = include_str!("../../vectors/messages.csv");
const PAGE: &str = include_str!("../../../../docs/quic-wire.md");
/// The rows that the page shows.
const SHOWN: [usize; 4] = [0, 1, 2, 7];

const HEAD: &str = "\
# Emulation packets and credits (docs/quic-wire.md), written by crates/quic/tests/it/vectors.rs (UPDATE_VECTORS=1).
# sequences and times have one value for each stamp. times and reference are in steps of 8.192 ns. reference is the time
# by which wrapped times are resolved. key is the key of the packet's sender. Bytes are hexadecimal.
kind,tag,sequences,times,reference,key,packet
";

const MESSAGES_HEAD: &str = "\
# Messages on the first unidirectional stream (docs/quic-wire.md), written by crates/quic/tests/it/vectors.rs. Values of
# settings: tag, stamps in a credit, waiting time (ns) and delay of credits (ns). Values of a notice: the DSCP of
# emulation packets and the DSCP of data packets, or - if it is unknown. Messages are hexadecimal.
kind,values,message
";

/// The steps after which the time on the wire is zero again.
const WRAP: u64 = 1 << 40;
const LAST: u64 = (1 << 51) - 1;
/// The key in the paper on `SipHash`.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

struct Vector {
    packet: Packet,
    reference: u64,
    key: [u8; 16],
}

fn stamp(sequence: u16, step: u64) -> Stamp {
    Stamp { sequence, time: time_of(step) }
}

fn emulation(tag: u16, sequence: u16, step: u64, tagged: bool) -> Packet {
    Packet::Emulation(Emulation { tag, stamp: stamp(sequence, step), tagged })
}

fn credit(tag: u16, stamps: &[Stamp]) -> Packet {
    let mut credit = Credit::new(tag, stamps[0]);
    assert!(stamps[1..].iter().all(|&stamp| credit.push(stamp)));
    Packet::Credit(credit)
}

/// Packets with values at their limits.
fn chosen() -> Vec<Vector> {
    let at = |packet, reference| Vector { packet, reference, key: KEY };
    let three = [stamp(65_534, WRAP - 2), stamp(65_535, WRAP - 1), stamp(0, WRAP)];
    let apart = [stamp(1, 1), stamp(700, WRAP / 2), stamp(2, 9), stamp(1, 1)];
    let mut vectors = vec![
        at(emulation(0x1234, 7, 122_070_313, false), 122_070_000),
        at(emulation(0x1234, 8, 122_070_435, true), 122_070_313),
        at(credit(0x5678, &[stamp(7, 122_070_313)]), 127_000_000),
        at(emulation(0, 0, 0, false), 0),
        at(emulation(65_535, 65_535, WRAP - 1, false), 0x80_0000_0000),
        at(emulation(1, 0, WRAP, false), WRAP - 1),
        at(emulation(1, 65_535, WRAP - 1, true), WRAP),
        at(credit(0x5678, &three), WRAP + 600_000),
        at(credit(2, &apart), WRAP / 4),
        at(emulation(3, 42, 5 * WRAP + 5, false), 5 * WRAP - 5),
        at(emulation(3, 42, 5 * WRAP - 5, true), 5 * WRAP + 5),
        // Of two equally near times the later one is used.
        at(emulation(4, 43, 3 * WRAP, false), 3 * WRAP - WRAP / 2),
        at(emulation(4, 43, 3 * WRAP - 1, false), 4 * WRAP - WRAP / 2 - 2),
        at(emulation(5, 44, LAST, false), LAST),
        at(emulation(5, 44, LAST - 1, true), LAST),
    ];
    vectors.extend((1..=MAX_STAMPS).map(|count| {
        let stamps: Vec<Stamp> = (0..count as u16)
            .map(|number| stamp(number.wrapping_sub(3), 2 * WRAP + 122 * u64::from(number) - 366))
            .collect();
        at(credit(0xBEEF, &stamps), 2 * WRAP + 4_882_813)
    }));
    vectors
}

/// A packet with a random key, tag and time.
fn drawn(random: &mut Stream, round: u64) -> Vector {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.draw().to_be_bytes());
    key[8..].copy_from_slice(&random.draw().to_be_bytes());
    let reference = WRAP + random.below(if round.is_multiple_of(2) { LAST - 2 * WRAP } else { 8 * WRAP });
    let mut near = || {
        let step = reference - WRAP / 2 + 1 + random.below(WRAP - 1);
        stamp(random.draw() as u16, step)
    };
    let tag = (round * 0x9E37) as u16;
    let packet = if round.is_multiple_of(3) {
        let stamps: Vec<Stamp> = (0..=round / 3 % 6).map(|_| near()).collect();
        credit(tag, &stamps)
    } else {
        let Stamp { sequence, time } = near();
        emulation(tag, sequence, step_of(time), round % 3 == 1)
    };
    Vector { packet, reference, key }
}

fn vectors() -> Vec<Vector> {
    let mut random = Seed::new(9).stream("packets", 0);
    let mut vectors = chosen();
    vectors.extend((0..36).map(|round| drawn(&mut random, round)));
    vectors
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn row(vector: &Vector) -> String {
    let (kind, tag, stamps) = match &vector.packet {
        Packet::Emulation(one) => (if one.tagged { "tagged" } else { "emulation" }, one.tag, vec![one.stamp]),
        Packet::Credit(credit) => ("credit", credit.tag, credit.stamps().to_vec()),
    };
    let join = |all: Vec<String>| all.join(" ");
    let sequences = join(stamps.iter().map(|stamp| stamp.sequence.to_string()).collect());
    let times = join(stamps.iter().map(|stamp| step_of(stamp.time).to_string()).collect());
    let packet = hex(&vector.packet.encode(&MacKey::new(vector.key)));
    let Vector { reference, key, .. } = vector;
    format!("{kind},{tag},{sequences},{times},{reference},{},{packet}", hex(key))
}

/// Compares a file with the output of this crate, or writes it.
fn check(name: &str, theirs: &str, ours: &str) {
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors");
        return std::fs::write(format!("{folder}/{name}"), ours).unwrap();
    }
    let how = "UPDATE_VECTORS=1 cargo test -p shallop-quic --test vectors writes the file";
    for (number, (theirs, ours)) in theirs.lines().zip(ours.lines()).enumerate() {
        assert_eq!(theirs, ours, "line {} of {name}: {how}", number + 1);
    }
    assert_eq!(theirs, ours, "{how}");
}

/// Asserts that the page shows the bytes of a row, its last column.
fn is_on_page(row: &str) {
    let page: String = PAGE.chars().filter(|c| !c.is_whitespace()).collect();
    assert!(page.contains(row.rsplit(',').next().unwrap()), "{row}");
}

pub fn every_row_is_what_this_crate_writes() {
    let rows: Vec<String> = vectors().iter().map(row).collect();
    check("packets.csv", VECTORS, &format!("{HEAD}{}\n", rows.join("\n")));
    assert!(rows.len() >= 40);
}

fn settings_row(values: [u64; 4]) -> String {
    let [tag, batch, wait, credit_delay] = values;
    let (wait, credit_delay) = (Span::from_ns(wait), Span::from_ns(credit_delay));
    let settings = CreditSettings { tag: tag as u16, batch: batch as u8, wait, credit_delay };
    let values = values.map(|value| value.to_string()).join(" ");
    format!("settings,{values},{}", hex(&settings.encode().unwrap()))
}

fn notice_row(emulation: u8, data: Option<u8>) -> String {
    let notice = DscpNotice { emulation, data };
    let data = data.map_or_else(|| "-".to_owned(), |data| data.to_string());
    format!("notice,{emulation} {data},{}", hex(&notice.encode()))
}

pub fn every_message_is_what_this_crate_writes() {
    let settings = [[0x1234, 3, 40_000_000, 100_000], [0, 1, 1_000, 0], [65_535, 6, 600_000_000_000, 600_000_000_000]];
    let notices = [(0, Some(0)), (24, Some(0)), (0, None), (63, Some(10)), (24, Some(40))];
    let mut rows: Vec<String> = settings.into_iter().map(settings_row).collect();
    rows.extend(notices.into_iter().map(|(emulation, data)| notice_row(emulation, data)));
    check("messages.csv", MESSAGES, &format!("{MESSAGES_HEAD}{}\n", rows.join("\n")));
    for number in [0, 3, 4] {
        is_on_page(&rows[number]);
    }
}

pub fn every_message_is_read_as_what_it_says() {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(MESSAGES.as_bytes());
    for record in reader.records() {
        let record = record.unwrap();
        let message = bytes(&record[2]);
        let said: Vec<Option<u64>> = record[1].split(' ').map(|value| value.parse().ok()).collect();
        if &record[0] == "settings" {
            let read = CreditSettings::decode(&message).unwrap();
            let times = [read.wait, read.credit_delay].map(|span| span.as_ps() / 1_000);
            let numbers = [u64::from(read.tag), u64::from(read.batch), times[0], times[1]];
            assert_eq!(said, numbers.map(Some));
        } else {
            let read = DscpNotice::decode(message.try_into().unwrap()).unwrap();
            assert_eq!(said, [Some(read.emulation.into()), read.data.map(u64::from)]);
        }
    }
}

pub fn every_row_is_read_as_what_it_says() {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(VECTORS.as_bytes());
    let mut kinds = [0; 3];
    for record in reader.records() {
        let record = record.unwrap();
        let number = |column: usize| record[column].parse::<u64>().unwrap();
        let key = MacKey::new(bytes(&record[5]).try_into().unwrap());
        let parsed = Parsed::parse(&bytes(&record[6])).unwrap();
        assert_eq!(u64::from(parsed.tag), number(1));
        let read = parsed.verify(&key, time_of(number(4))).unwrap();
        let stamps: Vec<Stamp> = record[2]
            .split(' ')
            .zip(record[3].split(' '))
            .map(|(sequence, step)| stamp(sequence.parse().unwrap(), step.parse().unwrap()))
            .collect();
        let expected = match &record[0] {
            "credit" => credit(parsed.tag, &stamps),
            kind => {
                let Stamp { sequence, time } = stamps[0];
                emulation(parsed.tag, sequence, step_of(time), kind == "tagged")
            }
        };
        assert_eq!(read, expected);
        kinds[parsed.kind as usize] += 1;
    }
    assert!(kinds.iter().all(|&count| count >= 10), "{kinds:?}");
}

pub fn the_page_shows_rows() {
    let rows: Vec<String> = vectors().iter().map(row).collect();
    for number in SHOWN {
        is_on_page(&rows[number]);
    }
}
