//! Known answers: this crate reads and writes each row of `vectors/packets.csv` and `vectors/messages.csv`, and
//! `vectors/check.py` checks them without this crate. The page docs/quic-wire.md shows some of the rows.

use shallop_core::Span;
use shallop_quic::notice::DscpNotice;
use shallop_quic::packet::{Credit, Emulation, MacKey, Packet, Parsed, Stamp, time_of};
use shallop_quic::settings::CreditSettings;

const PACKETS: &str = include_str!("../../vectors/packets.csv");
const MESSAGES: &str = include_str!("../../vectors/messages.csv");
const PAGE: &str = include_str!("../../../../docs/quic-wire.md");

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The rows of a table, without comments and the names of columns.
fn rows(table: &str) -> Vec<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(table.as_bytes());
    reader.records().map(Result::unwrap).collect()
}

pub fn every_message_is_read_and_written_as_its_row_says() {
    let rows = rows(MESSAGES);
    for row in &rows {
        let message = bytes(&row[2]);
        let said: Vec<Option<u64>> = row[1].split(' ').map(|value| value.parse().ok()).collect();
        if &row[0] == "settings" {
            let [tag, batch, wait, delay] = said[..] else { panic!("{row:?}") };
            let [wait, credit_delay] = [wait, delay].map(|time| Span::from_ns(time.unwrap()));
            let (tag, batch) = (tag.unwrap() as u16, batch.unwrap() as u8);
            let settings = CreditSettings { tag, batch, wait, credit_delay };
            assert_eq!(CreditSettings::decode(&message).unwrap(), settings);
            assert_eq!(settings.encode().unwrap()[..], message);
        } else {
            let [emulation, data] = [said[0], said[1]].map(|dscp| dscp.map(|dscp| dscp as u8));
            let notice = DscpNotice { emulation: emulation.unwrap(), data };
            assert_eq!(notice.encode()[..], message);
            assert_eq!(DscpNotice::decode(message.try_into().unwrap()).unwrap(), notice);
        }
    }
    assert!(rows.len() >= 8, "{}", rows.len());
}

pub fn every_packet_is_read_and_written_as_its_row_says() {
    let mut kinds = [0; 3];
    for row in rows(PACKETS) {
        let number = |column: usize| row[column].parse::<u64>().unwrap();
        let (tag, key, packet) = (number(1) as u16, MacKey::new(bytes(&row[5]).try_into().unwrap()), bytes(&row[6]));
        let stamp = |(sequence, step): (&str, &str)| Stamp {
            sequence: sequence.parse().unwrap(),
            time: time_of(step.parse().unwrap()),
        };
        let stamps: Vec<Stamp> = row[2].split(' ').zip(row[3].split(' ')).map(stamp).collect();
        let expected = if &row[0] == "credit" {
            let mut credit = Credit::new(tag, stamps[0]);
            assert!(stamps[1..].iter().all(|&stamp| credit.push(stamp)));
            Packet::Credit(credit)
        } else {
            Packet::Emulation(Emulation { tag, stamp: stamps[0], tagged: &row[0] == "tagged" })
        };
        let parsed = Parsed::parse(&packet).unwrap();
        assert_eq!(parsed.verify(&key, time_of(number(4))).unwrap(), expected);
        assert_eq!(expected.encode(&key)[..], packet);
        kinds[parsed.kind as usize] += 1;
    }
    assert!(kinds.iter().all(|&count| count >= 10), "{kinds:?}");
}

pub fn the_page_shows_rows() {
    let page: String = PAGE.chars().filter(|letter| !letter.is_whitespace()).collect();
    for (table, shown) in [(PACKETS, &[0, 1, 2, 7][..]), (MESSAGES, &[0, 3, 4])] {
        let rows = rows(table);
        for &number in shown {
            let bytes = rows[number].iter().next_back().unwrap();
            assert!(page.contains(bytes), "{bytes}");
        }
    }
}
