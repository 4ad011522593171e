//! Traces of flows: CSV with one line for each flow, read line by line in constant memory.
//!
//! The first line names the columns: `start`, `source`, `destination` and `bytes` in any order and case; others are
//! ignored. `source` and `destination` may have other usual names, as in network files. A start is in seconds unless it
//! has a unit; bytes may have a unit, too. HPCC's flow.txt has the number of flows in place of names, and htsim's
//! connection matrices have lines such as `0->13 start 0 size 2000000`, with starts in picoseconds. Rows may be in
//! any order ([`TraceReader::in_order`]). Commas, semicolons or tabs separate fields, which may stand in quotes; lines
//! that begin with `#` are comments. State: the current line. See docs/workloads.md, "Traces".

use super::parse::LARGEST;
use shallop_core::{Bytes, Node, Span};
use shallop_options::suggest::advice;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::str;

/// One flow of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// Start time of the flow, since the start of the run.
    pub start: Span,
    pub from: Node,
    pub to: Node,
    /// Payload bytes of the flow, at least one.
    pub bytes: u64,
}

/// Error in a trace, with its line and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}{}: {message}", column.map(|name| format!(", column {name}")).unwrap_or_default())]
pub struct TraceError {
    pub file: String,
    /// Number of the line, counted from 1.
    pub line: u64,
    pub column: Option<&'static str>,
    /// What is wrong, quoting the text or value that was found.
    pub message: String,
    /// Which values are allowed.
    pub help: String,
}

const COLUMNS: [&str; 4] = ["start", "source", "destination", "bytes"];
/// Names of the columns in traces, in order of preference.
const NAMES: [&[&str]; 4] = [
    &["start", "start_time", "time", "start_s", "arrival"],
    &["source", "from", "src", "sender"],
    &["destination", "to", "dst", "dest", "target", "receiver"],
    &["bytes", "size", "flow_size", "size_bytes"],
];
const HEADER: &str = "the first line names the columns: start,source,destination,bytes";

/// The places of the columns in HPCC's flow.txt: source, destination, priority, port, bytes, start.
const HPCC: ([usize; 4], usize) = ([5, 0, 1, 4], 6);

/// Largest length of a line, in bytes.
const LONGEST: usize = 4_096;

/// The byte between the fields of a line with quotes, once it is taken apart.
const APART: u8 = 0x1f;

/// The separator of CSV by its header: a comma, or, in a header without commas, a semicolon or a tab.
pub fn separator(header: &str) -> u8 {
    let others = [';', '\t'].into_iter().find(|&mark| header.contains(mark) && !header.contains(','));
    others.map_or(b',', |mark| mark as u8)
}

/// Reads a trace flow by flow. After an error there are no more rows.
pub struct TraceReader<'a, R> {
    file: String,
    text: R,
    hosts: &'a BTreeMap<String, Vec<Node>>,
    /// For senders and for receivers: the place of the next host in each set of several hosts.
    turns: [BTreeMap<&'a str, usize>; 2],
    /// Text of the current line, and its number.
    line: Vec<u8>,
    number: u64,
    /// Position of each column in a line, and the number of columns; `None` before the header has been read.
    places: Option<([usize; 4], usize)>,
    separator: u8,
    /// Flows that are still to come in HPCC's flow.txt, which begins with their number.
    left: u64,
    last: Span,
    sorted: bool,
    done: bool,
}

/// An error before its line is known: the column, what was found, what is allowed.
type Problem = (Option<usize>, String, String);

impl<'a, R: BufRead> TraceReader<'a, R> {
    /// Reads the trace `text`. `file` is its name in errors; `hosts` has the hosts of each name: one host, or a set
    /// such as a site, whose hosts take turns.
    pub fn new(file: impl Into<String>, text: R, hosts: &'a BTreeMap<String, Vec<Node>>) -> Self {
        let (line, places) = (Vec::new(), None);
        let file = file.into();
        let last = Span::ZERO;
        let turns = Default::default();
        let (number, separator, left) = (0, b',', u64::MAX);
        Self { file, text, hosts, turns, line, number, places, separator, left, last, sorted: true, done: false }
    }

    /// Number of the line that was read last, counted from 1.
    pub fn line(&self) -> u64 {
        self.number
    }

    /// Whether no row so far starts before the row above it.
    pub fn in_order(&self) -> bool {
        self.sorted
    }

    /// Puts a line of a connection matrix in the form of other traces. Returns false if the line has no flow.
    fn of_htsim(&mut self) -> Result<bool, Problem> {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let help = || "a line is 0->13 start 0 size 2000000, with the start in picoseconds".to_owned();
        if matches!(first, "Nodes" | "Connections" | "Triggers" | "Failures") {
            let wrong =
                || (None, format!("\"{}\": flows that wait for others, or links that fail", line.trim()), help());
            let none = matches!(first, "Nodes" | "Connections") || words.next() == Some("0");
            return none.then_some(false).ok_or_else(wrong);
        }
        let (mut start, mut bytes) = (None, None);
        while let Some(word) = words.next() {
            let value = words.next().unwrap_or_default();
            match word {
                "start" => start = value.parse::<f64>().ok().map(|ps| (ps / 1e12).to_string()),
                "size" => bytes = Some(value),
                "id" | "prio" => {}
                _ => return Err((None, format!("\"{word} {value}\" is not read"), help())),
            }
        }
        let flow = first.split_once("->").zip(start).zip(bytes);
        let missing = || (None, format!("\"{}\" is no flow", line.trim()), help());
        let (((from, to), start), bytes) = flow.ok_or_else(missing)?;
        self.line = [start.as_bytes(), from.as_bytes(), to.as_bytes(), bytes.as_bytes()].join(&APART);
        Ok(true)
    }

    /// Reads the next flow; `None` at the end of the trace.
    fn read(&mut self) -> Result<Option<TraceRow>, Problem> {
        while self.left > 0 && self.read_line()? {
            if self.line.starts_with(&[0xff, 0xfe]) || self.line.starts_with(&[0xfe, 0xff]) {
                return Err((None, "the text is UTF-16".to_owned(), "save the file as UTF-8".to_owned()));
            }
            let line = self.line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&self.line);
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if self.places.is_none()
                && let Some(flows) = str::from_utf8(line).ok().and_then(|line| line.parse().ok())
            {
                (self.left, self.separator, self.places) = (flows, b' ', Some(HPCC));
                continue;
            }
            if self.places.is_none() && line.starts_with(b"Nodes ") {
                (self.separator, self.places) = (APART, Some(([0, 1, 2, 3], 4)));
            }
            if self.separator == APART {
                if self.of_htsim()? {
                    return self.row(([0, 1, 2, 3], 4), APART).map(Some);
                }
                continue;
            }
            if self.places.is_none() {
                self.separator = separator(&String::from_utf8_lossy(line));
            }
            let quoted = if self.separator == b' ' {
                let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
                Some(words.join(&APART))
            } else {
                line.contains(&b'"').then(|| fields(line, self.separator)).transpose()?
            };
            let separator = if quoted.is_some() { APART } else { self.separator };
            match self.places {
                None => self.places = Some(header(quoted.as_deref().unwrap_or(line), separator)?),
                Some(places) => {
                    if let Some(fields) = quoted {
                        self.line = fields;
                    }
                    self.left -= 1;
                    return self.row(places, separator).map(Some);
                }
            }
        }
        let empty = || (None, "the trace has no lines".to_owned(), HEADER.to_owned());
        self.places.map(|_| None).ok_or_else(empty)
    }

    /// Reads the next line into the buffer. Returns false at the end of the text.
    fn read_line(&mut self) -> Result<bool, Problem> {
        self.line.clear();
        let read = self.text.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut self.line);
        // An error at the end names the last line, or line 1 of an empty trace.
        self.number += u64::from(self.number == 0 || !matches!(read, Ok(0)));
        match read {
            Ok(_) if self.line.len() <= LONGEST => Ok(!self.line.is_empty()),
            Ok(_) => {
                let message = format!("the line has more than {LONGEST} bytes");
                Err((None, message, "a flow per line".to_owned()))
            }
            Err(why) => Err((None, why.to_string(), "a file that can be read".to_owned())),
        }
    }

    fn row(&mut self, (places, columns): ([usize; 4], usize), separator: u8) -> Result<TraceRow, Problem> {
        let (mut fields, mut count) = ([None; 4], 0);
        for (place, field) in self.line.split(|&byte| byte == separator).enumerate() {
            if let Some(column) = places.iter().position(|&other| other == place) {
                fields[column] = Some(field);
            }
            count = place + 1;
        }
        if count > columns {
            let help = "one value for each column; a name with a comma stands in quotes: \"Washington, DC.h0\"";
            return Err((None, format!("the line has {count} values for {columns} columns"), help.to_owned()));
        }
        let field = |column: usize| {
            let missing = || {
                let message = format!("the line has {count} values, and none for this column");
                let help = "write a value for each column that the first line names";
                (Some(column), message, help.to_owned())
            };
            let field: &[u8] = fields[column].ok_or_else(missing)?;
            let no_text = |_| {
                let found = String::from_utf8_lossy(field).into_owned();
                (Some(column), format!("\"{found}\" is not UTF-8 text"), HEADER.to_owned())
            };
            str::from_utf8(field).map(str::trim).map_err(no_text)
        };
        let start = match field(0)? {
            // Between semicolons a comma is a decimal point.
            text if self.separator == b';' && text.contains(',') => start(&text.replace(',', "."))?,
            text => start(text)?,
        };
        let hosts = |column: usize| {
            let name = field(column)?;
            let named = self.hosts.get_key_value(name).filter(|(_, hosts)| !hosts.is_empty());
            named.map(|(name, hosts)| (name.as_str(), &hosts[..])).ok_or_else(|| {
                let help = advice(name, self.hosts.keys().map(String::as_str));
                (Some(column), format!("\"{name}\" is no host, nor a set of hosts"), help)
            })
        };
        let (senders, receivers) = (hosts(1)?, hosts(2)?);
        let mut from = turn(senders, &mut self.turns[0]);
        let mut to = turn(receivers, &mut self.turns[1]);
        if from == to {
            // A flow within a site is between two of its hosts.
            to = turn(receivers, &mut self.turns[1]);
        }
        if from == to {
            from = turn(senders, &mut self.turns[0]);
        }
        if from == to {
            let message = format!("\"{}\" sends to itself", receivers.0);
            return Err((Some(2), message, "source and destination are two hosts".into()));
        }
        let bytes = bytes(field(3)?)?;
        self.sorted &= start >= self.last;
        self.last = start;
        Ok(TraceRow { start, from, to, bytes })
    }
}

/// The host whose turn it is among `hosts`, which have this name.
fn turn<'a>((name, hosts): (&'a str, &[Node]), turns: &mut BTreeMap<&'a str, usize>) -> Node {
    if let [host] = hosts[..] {
        return host;
    }
    let next = turns.entry(name).or_default();
    let host = hosts[*next];
    *next = (*next + 1) % hosts.len();
    host
}

impl<R: BufRead> Iterator for TraceReader<'_, R> {
    type Item = Result<TraceRow, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let row = self.read();
        self.done = !matches!(row, Ok(Some(_)));
        let here = |(column, message, help): Problem| TraceError {
            file: self.file.clone(),
            line: self.number,
            column: column.map(|column| COLUMNS[column]),
            message,
            help,
        };
        row.map_err(here).transpose()
    }
}

/// Takes a line with quotes apart: its fields, with [`APART`] between them.
fn fields(line: &[u8], separator: u8) -> Result<Vec<u8>, Problem> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).delimiter(separator).trim(csv::Trim::All);
    let mut record = csv::ByteRecord::new();
    let read = reader.from_reader(line).read_byte_record(&mut record);
    // A quote that is not closed in the line takes the rest of the line into a field.
    let closed = !line.split(|&byte| byte == b'"').count().is_multiple_of(2);
    if !closed || !matches!(read, Ok(true)) {
        let help = "close it in the same line; two quotes in quotes are one".to_owned();
        return Err((None, "a quote is not closed on the line".to_owned(), help));
    }
    Ok(record.iter().collect::<Vec<_>>().join(&APART))
}

/// Finds the position of each column in the header line, and the number of columns.
fn header(line: &[u8], separator: u8) -> Result<([usize; 4], usize), Problem> {
    let line = String::from_utf8_lossy(line);
    let names: Vec<&str> = line.split(char::from(separator)).map(str::trim).collect();
    let mut places = [0; 4];
    for (column, known) in NAMES.into_iter().enumerate() {
        let wrong = |what: &str| {
            let message = format!("the first line {what} this column: {}", list(&names));
            (Some(column), message, HEADER.to_owned())
        };
        let all = |name: &&str| {
            let is = |(at, other): (usize, &&str)| other.eq_ignore_ascii_case(name).then_some(at);
            let found: Vec<usize> = names.iter().enumerate().filter_map(is).collect();
            (!found.is_empty()).then_some(found)
        };
        let found = known.iter().find_map(all).ok_or_else(|| wrong("does not name"))?;
        places[column] = found[0];
        if found.len() > 1 {
            return Err(wrong("names twice"));
        }
    }
    Ok((places, names.len()))
}

/// The first eight column names of a header, joined with commas for errors.
fn list(names: &[&str]) -> String {
    let first = names.iter().take(8).map(|name| name.chars().take(24).collect::<String>());
    let more = if names.len() > 8 { ", ..." } else { "" };
    format!("\"{}{more}\"", first.collect::<Vec<_>>().join(","))
}

fn start(text: &str) -> Result<Span, Problem> {
    if let Some(span) = plain_seconds(text.as_bytes()) {
        return Ok(span);
    }
    let help = || {
        "seconds, as in 0.25 or 2.5e-3, or a number with a unit, as in 250us; \
         not negative, less than 200 days"
            .to_owned()
    };
    if let Ok(seconds) = text.parse::<f64>() {
        let fits = (0.0..17_280_000.0).contains(&seconds);
        let wrong = || (Some(0), format!("\"{text}\" is out of range"), help());
        return fits.then(|| Span::from_secs_f64(seconds)).ok_or_else(wrong);
    }
    text.parse().map_err(|why| (Some(0), format!("{why}"), help()))
}

/// Parses seconds of digits with at most twelve decimals exactly; `None` for any other form. Almost all starts have
/// this form.
fn plain_seconds(text: &[u8]) -> Option<Span> {
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let decimals = text.get(point + 1..).unwrap_or_default();
    if point == 0 || point > 7 || decimals.len() > 12 {
        return None;
    }
    let digits = |text: &[u8]| {
        text.iter().try_fold(0u64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
    };
    let part = (decimals.len()..12).fold(digits(decimals)?, |sum, _| sum * 10);
    Some(Span::from_secs(digits(&text[..point])?) + Span::from_ps(part))
}

fn bytes(text: &str) -> Result<u64, Problem> {
    // Spreadsheets and pandas write whole numbers as 1000.0.
    let whole = || text.parse::<f64>().ok().filter(|it| it.fract() == 0.0 && *it >= 0.0).map(|it| it as u64);
    let number = text.parse().ok().or_else(whole).or_else(|| text.parse::<Bytes>().ok().map(Bytes::get));
    number.filter(|bytes| (1..=LARGEST).contains(bytes)).ok_or_else(|| {
        let help = format!("whole bytes from 1 to {LARGEST}, as in 1460 or 2.5MB");
        (Some(3), format!("\"{text}\" is no size of a flow"), help)
    })
}
