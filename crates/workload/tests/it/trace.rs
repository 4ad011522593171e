//! Traces: rows, errors and speed.

use proptest::prelude::*;
use shallop_core::{Node, Span};
use shallop_workload::trace::{TraceError, TraceReader, TraceRow};
use std::{collections::BTreeMap, fmt::Write as _};

const NAMES: [&str; 4] = ["a0", "a1", "b0", "b1"];

/// The hosts by name, and the site `a` with its two hosts.
fn hosts() -> BTreeMap<String, Vec<Node>> {
    let single = NAMES.into_iter().zip((0..).map(|host| vec![Node(host)]));
    let site = ("a", vec![Node(0), Node(1)]);
    single.chain([site]).map(|(name, hosts)| (name.to_owned(), hosts)).collect()
}

fn read(text: &[u8]) -> Result<Vec<TraceRow>, TraceError> {
    TraceReader::new("flows.csv", text, &hosts()).collect()
}

fn row(start: Span, from: u32, to: u32, bytes: u64) -> TraceRow {
    TraceRow { start, from: Node(from), to: Node(to), bytes }
}

#[test]
fn source_and_destination_may_be_called_from_and_to() {
    let usual = read(b"start,source,destination,bytes\n0,a0,b0,5\n");
    assert_eq!(usual, Ok(vec![row(Span::ZERO, 0, 2, 5)]));
    assert_eq!(read(b"start,from,to,bytes\n0,a0,b0,5\n"), usual);
    // Beside `source`, a column `from` is ignored.
    assert_eq!(read(b"from,start,source,destination,bytes\nx,0,a0,b0,5\n"), usual);
}

#[test]
fn columns_may_have_any_order_and_values_may_have_units() {
    let text = "# two sites\nstart,source,destination,bytes\n0,a0,b0,1\n0.25,a1,b1,2.5MB\r\n\
                0.25 , b0 , a0 , 1460\n\n2.5e-1,b1,a0,7\n250.5ms,a0,a1,8\n12.000000000001,a0,a1,9";
    let ms = Span::from_ms;
    let expected = [
        row(Span::ZERO, 0, 2, 1),
        row(ms(250), 1, 3, 2_500_000),
        row(ms(250), 2, 0, 1460),
        row(ms(250), 3, 0, 7),
        row(Span::from_us(250_500), 0, 1, 8),
        row(Span::from_secs(12) + Span::from_ps(1), 0, 1, 9),
    ];
    assert_eq!(read(text.as_bytes()).unwrap(), expected);
    let other = "\u{feff}tag,bytes,destination,source,start\nx,5,b0,a0,1\n,6,b0,a1,1.5\n";
    let expected = [row(ms(1_000), 0, 2, 5), row(ms(1_500), 1, 2, 6)];
    assert_eq!(read(other.as_bytes()).unwrap(), expected);
    assert_eq!(read(b"start,source,destination,bytes\n").unwrap(), []);
}

#[test]
fn traces_are_read_as_spreadsheets_and_pandas_write_them() {
    let mut hosts = hosts();
    hosts.insert("Washington, DC.h0".to_owned(), vec![Node(3)]);
    let expected = vec![row(Span::ZERO, 3, 0, 1000)];
    for text in [
        "start,source,destination,bytes\n0,\"Washington, DC.h0\",a0,1000.0\n",
        "Start,Source,Destination,Bytes\n0,\"Washington, DC.h0\",\"a0\",1e3\n",
        "\"time\",\"src\",\"dst\",\"size\"\n0.0,\"Washington, DC.h0\",a0,1000\n",
        "FROM;TO;Start;BYTES\r\nWashington, DC.h0;a0;0,0;1KB\r\n",
        "start\tsource\tdestination\tbytes\n0\tWashington, DC.h0\ta0\t1000\n",
    ] {
        let rows: Result<Vec<TraceRow>, TraceError> = TraceReader::new("t", text.as_bytes(), &hosts).collect();
        assert_eq!(rows.as_ref(), Ok(&expected), "{text}");
    }
    // HPCC's flow.txt: the number of flows, then source, destination, priority, port, bytes, start.
    let numbers: BTreeMap<String, Vec<Node>> = (0..3).map(|host| (host.to_string(), vec![Node(host)])).collect();
    let hpcc = "2\n2 1 3 100 200000000 2\n0  2 3 100 1000 2.5 \n1 1 3 100 1 3\n";
    let rows: Result<Vec<TraceRow>, TraceError> = TraceReader::new("flow.txt", hpcc.as_bytes(), &numbers).collect();
    let expected = vec![row(Span::from_secs(2), 2, 1, 200_000_000), row(Span::from_ms(2_500), 0, 2, 1_000)];
    assert_eq!(rows, Ok(expected));
    let error = TraceReader::new("flow.txt", &b"2\n2 1 3 100 5\n"[..], &numbers).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("flow.txt, line 2, column start: the line has 5 values"), "{error}");
    // Connection matrices of htsim, with starts in picoseconds.
    for (text, expected) in [
        ("Nodes 16\nConnections 2\n0->2 start 0 size 2000000\n2->1 id 7 start 1500000.0 size 1 prio 3\n", Ok(2)),
        ("Nodes 16\nConnections 1\nTriggers 1\n0->1 id 1 trigger 1 size 2\n", Err("line 3: \"Triggers 1\"")),
        ("Nodes 16\n0->1 start 0 size 0\n", Err("line 2, column bytes: \"0\" is no size")),
        ("Nodes 16\n0->1 size 5\n", Err("line 2: \"0->1 size 5\" is no flow")),
    ] {
        let rows: Result<Vec<TraceRow>, TraceError> = TraceReader::new("x.cm", text.as_bytes(), &numbers).collect();
        match (rows, expected) {
            (Ok(rows), Ok(count)) => {
                assert_eq!((rows.len(), rows[0]), (count, row(Span::ZERO, 0, 2, 2_000_000)));
                assert_eq!((rows[1].start, rows[1].bytes), (Span::from_ps(1_500_000), 1));
            }
            (rows, Err(why)) => assert!(rows.unwrap_err().to_string().contains(why), "{text}"),
            (rows, _) => panic!("{text}: {rows:?}"),
        }
    }
    let error = read(b"\xff\xfes\0t\0").unwrap_err();
    assert!(error.to_string().contains("UTF-16") && error.help.contains("UTF-8"), "{error}");
}

#[test]
fn hosts_of_a_site_take_turns_and_rows_may_be_in_any_order() {
    let text = "start,source,destination,bytes\n2,a,b0,1\n1,a,b0,2\n3,b1,a,3\n3,a,a,4\n\
                3,a,a,5\n3,a,a0,6\n3,b0,a,7\n";
    let (hosts, secs) = (hosts(), Span::from_secs);
    let mut reader = TraceReader::new("flows.csv", text.as_bytes(), &hosts);
    let mut next = || (reader.next().unwrap().unwrap(), reader.in_order());
    assert_eq!(next(), (row(secs(2), 0, 2, 1), true));
    assert_eq!(next(), (row(secs(1), 1, 2, 2), false));
    for expected in [(3, 0, 3), (0, 1, 4), (1, 0, 5), (1, 0, 6), (2, 1, 7)] {
        let (from, to, bytes) = expected;
        assert_eq!(next(), (row(secs(3), from, to, bytes), false));
    }
    assert!(reader.next().is_none());
}

/// A trace with `H` for the header and `\n` for line ends, the place and message of its error, and words of the help.
const ERRORS: &str = include_str!("trace_errors.txt");

#[test]
fn errors_name_file_line_and_column() {
    for case in ERRORS.trim_matches('\n').lines() {
        let [text, at, words] = case.split(" | ").collect::<Vec<_>>()[..] else { panic!("{case}") };
        let text = text.replace("\\n", "\n").replacen('H', "start,source,destination,bytes", 1);
        let error = read(text.as_bytes()).map(|rows| panic!("{text}: {rows:?}")).unwrap_err();
        let found = error.to_string();
        assert!(found.starts_with("flows.csv, line ") && found.contains(at), "{text}: {found}");
        assert!(error.help.contains(words), "{text}: {}", error.help);
    }
}

#[test]
fn invalid_utf8_and_long_lines_are_refused() {
    let error = read(b"start,source,destination,bytes\n0,\xff,b0,1\n").unwrap_err();
    assert!(error.to_string().contains("line 2, column source"), "{error}");
    let long = format!("start,source,destination,bytes\n0,a0,b0,{}1\n", " ".repeat(5_000));
    let error = read(long.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("line 2: the line has more than 4096 bytes"), "{error}");
}

#[test]
fn the_reader_ends_after_an_error() {
    let text = "start,source,destination,bytes\n0,a0,b0,1\n0,x,b0,1\n0,a0,b0,1\n";
    let rows: Vec<_> = TraceReader::new("t", text.as_bytes(), &hosts()).collect();
    assert_eq!(rows.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
}

proptest! {
    #[test]
    fn any_bytes_give_valid_rows_or_an_error(
        header: bool,
        lines in prop::collection::vec("[-0-9a-b.,e\" µsMB#]{0,24}", 0..6),
        end in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let mut text = if header { "start,source,destination,bytes\n".to_owned() } else { String::new() };
        for line in lines {
            writeln!(text, "{line}").unwrap();
        }
        let mut bytes = text.into_bytes();
        bytes.extend(end);
        let hosts = hosts();
        let mut reader = TraceReader::new("flows.csv", &bytes[..], &hosts);
        let rows: Result<Vec<TraceRow>, TraceError> = reader.by_ref().collect();
        if let Ok(rows) = rows {
            prop_assert!(rows.iter().all(|row| row.bytes > 0 && row.from != row.to));
            prop_assert_eq!(rows.is_sorted_by_key(|row| row.start), reader.in_order());
        }
    }

    #[test]
    fn starts_keep_every_picosecond(secs in 0u64..1_000_000, ps in 0u64..1_000_000_000_000) {
        let text = format!("start,source,destination,bytes\n{secs}.{ps:012},a0,b0,1\n");
        let start = read(text.as_bytes()).unwrap()[0].start;
        prop_assert_eq!(start, Span::from_secs(secs) + Span::from_ps(ps));
    }
}

/// Prints rows per second: `cargo test --release -p shallop-workload --test it trace -- --ignored --nocapture`.
#[test]
#[ignore = "release: measures time, which is meaningless in a debug build"]
#[expect(clippy::print_stderr, clippy::disallowed_macros, clippy::disallowed_types, reason = "a measurement")]
fn a_million_rows_take_well_under_a_second() {
    let names: Vec<String> = (0..60).map(|host| format!("dc{}-host{}", host / 20, host % 20)).collect();
    let mut text = "start,source,destination,bytes\n".to_owned();
    for row in 0u64..1_000_000 {
        let (from, to) = (row % 60, (row * 7 + 1) % 60);
        let to = if to == from { (to + 1) % 60 } else { to };
        let (from, to) = (&names[from as usize], &names[to as usize]);
        let us = row * 13;
        writeln!(text, "{}.{:06},{from},{to},{}", us / 1_000_000, us % 1_000_000, row + 1).unwrap();
    }
    let hosts = names.iter().cloned().zip((0..).map(|host| vec![Node(host)])).collect();
    let begin = std::time::Instant::now();
    let rows = TraceReader::new("t", text.as_bytes(), &hosts).map(Result::unwrap);
    let sum: u64 = rows.map(|row| row.bytes).sum();
    let seconds = begin.elapsed().as_secs_f64();
    eprintln!("{:.0} rows a second ({seconds:.3} s for 1,000,000)", 1e6 / seconds);
    assert_eq!(sum, 500_000_500_000);
    assert!(seconds < 1.0, "{seconds} s");
}
