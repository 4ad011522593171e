//! Parser of flow-size distributions. A line has a size in bytes and the share of flows up to it, separated by a comma
//! or white space. The formats of public generators are told apart by the text itself:
//!
//! - three columns are the format of ns-2 (size, a number that ns-2 ignores, share); all other formats have two;
//! - shares that end in 100 are percentages, shares that end in 1 are fractions;
//! - a first line without a number is a header; `#` begins a comment;
//! - a first line with one number is the mean, which follows from the others (Homa);
//! - sizes or their heading may have a unit of bytes, and shares a percent sign. Sizes in packets are refused.

use shallop_core::Bytes;

/// Largest flow size that is accepted, in bytes (1 PB).
pub const LARGEST: u64 = 1_000_000_000_000_000;
/// Relative error up to which the last share of a table may differ from 1 or 100, since tables are rounded.
const TOLERANCE: f64 = 1e-6;

/// A point of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    /// Flow size in bytes.
    pub size: u64,
    /// Fraction of flows of at most `size` bytes, in [0, 1].
    pub share: f64,
}

/// Error in a table of flow sizes. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SizesError {
    #[error(
        "the table is empty: each line needs a size in bytes and the share of flows up to it, as in \"10000,0.15\""
    )]
    Empty,
    #[error("line {line}: {found} columns where {allowed} are needed: size,share or, as in ns-2, size count share")]
    Columns { line: usize, found: usize, allowed: &'static str },
    #[error("line {line}, column {column}: \"{found}\" is no number; a line looks like \"10000,0.15\"")]
    NotANumber { line: usize, column: usize, found: String },
    #[error("line {line}: a size of {found}: sizes are whole bytes from 0 to {LARGEST}")]
    Size { line: usize, found: String },
    #[error(
        "line {line}: \"{found}\" says that sizes are in packets, and not of how many bytes: write sizes in bytes, \
         such as 1460 times as much"
    )]
    Packets { line: usize, found: String },
    #[error("line {line}: a share of {found}: shares lie between 0 and 1, or 0 and 100 if they are percentages")]
    Share { line: usize, found: String },
    #[error("line {line}: size {found} comes after {before}: sizes must not decrease")]
    SizeDecreases { line: usize, found: u64, before: u64 },
    #[error("line {line}: share {found} comes after {before}: shares add up over sizes and must not decrease")]
    ShareDecreases { line: usize, found: f64, before: f64 },
    #[error("line {line}: the last share is {found}; it must be 1, or 100 if shares are percentages")]
    End { line: usize, found: f64 },
    #[error("sizes from {low} to {high} bytes: the range must start at 1 or above and not end below its start")]
    Range { low: u64, high: u64 },
}

/// Parses the points of a distribution. Shares are in [0, 1], and the last is 1.
pub(super) fn points(text: &str) -> Result<Vec<CdfPoint>, SizesError> {
    let mut points: Vec<CdfPoint> = Vec::new();
    let (mut columns, mut last, mut mean, mut scale) = (0, 0, false, 1.0);
    for (line, fields) in lines(text) {
        let header = points.is_empty() && columns == 0;
        if header && !mean && fields.len() == 1 && is_number(fields[0]) {
            mean = true;
            continue;
        }
        if header && !fields.iter().any(|field| is_number(field)) {
            let packets =
                |field: &&&str| ["packet", "pkt", "segment"].iter().any(|it| field.to_lowercase().contains(it));
            if let Some(found) = fields.iter().find(packets) {
                return Err(SizesError::Packets { line, found: (*found).to_owned() });
            }
            scale = fields.iter().find_map(|field| unit(field)).unwrap_or(1.0);
            columns = fields.len();
            continue;
        }
        let allowed = match columns {
            2 => "2",
            3 => "3",
            _ => "2 or 3",
        };
        if !matches!(fields.len(), 2 | 3) || (!points.is_empty() && columns != fields.len()) {
            return Err(SizesError::Columns { line, found: fields.len(), allowed });
        }
        columns = fields.len();
        let point = point(line, &fields, scale)?;
        if let Some(before) = points.last() {
            ascends(line, before, &point)?;
        }
        points.push(point);
        last = line;
    }
    let end = points.last().ok_or(SizesError::Empty)?.share;
    let whole = if (end - 100.0).abs() <= 100.0 * TOLERANCE { 100.0 } else { 1.0 };
    if (end / whole - 1.0).abs() > TOLERANCE {
        return Err(SizesError::End { line: last, found: end });
    }
    for point in &mut points {
        // Shares equal to the last one become exactly 1, as the last does.
        point.share = if point.share < end { (point.share / whole).min(1.0) } else { 1.0 };
    }
    Ok(points)
}

/// Splits lines into fields, with the number of each line from 1. Skips empty lines and comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    (1..).zip(text.trim_start_matches('\u{feff}').lines()).filter_map(|(number, line)| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let fields: Vec<&str> = if let Some(mark) = [',', ';'].into_iter().find(|mark| line.contains(*mark)) {
            line.split(mark).map(|field| field.trim().trim_matches('"')).collect()
        } else {
            line.split_whitespace().collect()
        };
        (!line.is_empty()).then_some((number, fields))
    })
}

/// The bytes of a unit in a heading, such as `Size (KB)`.
fn unit(heading: &str) -> Option<f64> {
    let unit = |word: &str| match word {
        "kb" | "kbyte" | "kbytes" | "kilobytes" => Some(1e3),
        "kib" => Some(1_024.0),
        "mb" | "mbyte" | "mbytes" | "megabytes" => Some(1e6),
        "mib" => Some(1_048_576.0),
        _ => None,
    };
    heading.to_lowercase().split(|c: char| !c.is_alphabetic()).find_map(unit)
}

fn is_number(field: &str) -> bool {
    field.trim_end_matches('%').trim_end().parse::<f64>().is_ok() || field.parse::<Bytes>().is_ok()
}

fn point(line: usize, fields: &[&str], scale: f64) -> Result<CdfPoint, SizesError> {
    let number = |column: usize| {
        let found = fields[column - 1];
        let number = if column == 1 { found } else { found.trim_end_matches('%').trim_end() };
        let with_unit = || found.parse::<Bytes>().ok().filter(|_| column == 1).map(|bytes| bytes.get() as f64);
        let scale = if column == 1 { scale } else { 1.0 };
        let number = number
            .parse()
            .ok()
            .map(|number: f64| number * scale)
            .or_else(with_unit)
            .filter(|number: &f64| number.is_finite());
        number.ok_or(SizesError::NotANumber { line, column, found: found.to_owned() })
    };
    let size = number(1)?;
    if size.fract() != 0.0 || !(0.0..=LARGEST as f64).contains(&size) {
        return Err(SizesError::Size { line, found: fields[0].to_owned() });
    }
    let share = number(fields.len())?;
    if !(0.0..=100.0 * (1.0 + TOLERANCE)).contains(&share) {
        return Err(SizesError::Share { line, found: fields[fields.len() - 1].to_owned() });
    }
    if fields.len() == 3 {
        number(2)?;
    }
    Ok(CdfPoint { size: size as u64, share })
}

fn ascends(line: usize, before: &CdfPoint, point: &CdfPoint) -> Result<(), SizesError> {
    if point.size < before.size {
        let (found, before) = (point.size, before.size);
        return Err(SizesError::SizeDecreases { line, found, before });
    }
    if point.share < before.share {
        let (found, before) = (point.share, before.share);
        return Err(SizesError::ShareDecreases { line, found, before });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(text: &str) -> Vec<(u64, f64)> {
        let points = points(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        points.iter().map(|point| (point.size, point.share)).collect()
    }

    #[test]
    fn the_formats_of_the_public_generators_give_equal_points() {
        let expected = [(0, 0.0), (10_000, 0.15), (20_000, 0.5), (30_000_000, 1.0)];
        for text in [
            "size,cdf\n0,0\n10000,0.15\n20000,0.5\n30000000,1\n",
            "# from somewhere\n0 , 0.0\r\n1e4,0.15 # a comment\n\n20000,.5\n3e7,1.0",
            "0 0\n10000 0.15\n20000 0.5\n30000000 1\n",
            "0\t0\n10000\t15\n20000\t50\n30000000\t100\n",
            "\u{feff}0 1 0\n10000 1 0.15\n20000 1 0.5\n30000000 1 1\n",
            "bytes percent\n0 0\n10000 15\n20000 50.0\n30000000 100.00001\n",
            "11000.5\n0 0\n10000 0.15\n20000 0.5\n30000000 1\n",
            "Size (KB),CDF\n0,0\n10,0.15\n20,0.5\n30MB,1\n",
            "\"Flow size\";\"Share\"\n0;0%\n10KB;15%\n20KB;50 %\n30MB;100%\n",
        ] {
            assert_eq!(shares(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_last_share_that_was_rounded_counts_as_one() {
        assert_eq!(shares("1,0.5\n2,0.9999999\n3,0.9999999"), [(1, 0.5), (2, 1.0), (3, 1.0)]);
        assert_eq!(shares("5 1"), [(5, 1.0)]);
    }

    /// The table has a wrong text in each row, with `\n` for the end of a line, and a part of its error.
    #[test]
    fn errors_name_line_and_column() {
        for row in include_str!("parse/wrong.tsv").lines() {
            let (text, expected) = row.split_once('\t').unwrap();
            let text = &text.replace("\\n", "\n");
            let error = points(text).map(|points| panic!("{text:?}: {points:?}")).unwrap_err();
            assert!(error.to_string().contains(expected), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9., #a-z\\n\\t]{0,80}") {
            if let Ok(points) = points(&text) {
                prop_assert!((points.last().unwrap().share - 1.0).abs() < f64::EPSILON);
                prop_assert!(points.is_sorted_by(|a, b| a.size <= b.size && a.share <= b.share));
            }
        }
    }
}
