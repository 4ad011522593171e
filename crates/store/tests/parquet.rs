//! What is written reads back, and the bytes depend on the rows alone.

use proptest::prelude::*;
use shallop_store::{
    Column, Draft, StoreError, Table, TableWriter, Text, Values, from_parquet, publish, read_table, to_parquet,
};
use std::io::{self, Write};

fn flows(rows: u64) -> Table {
    let texts = |row: u64| (row % 7 != 3).then(|| format!("scheme-{}", row % 5));
    let columns = vec![
        Column::new("flow", "", "Number of the flow.", (0..rows).collect::<Vec<u64>>()),
        Column::new(
            "fct_ns",
            "ns",
            "Completion time; none if unfinished.",
            (0..rows).map(|row| (row % 11 != 0).then_some(row * 1_000)).collect::<Vec<_>>(),
        ),
        Column::new(
            "slowdown",
            "ratio",
            "Completion time over that of the same flow alone.",
            (0..rows).map(|row| row as f64 / 3.0).collect::<Vec<_>>(),
        ),
        Column::new("scheme", "", "Its scheme.", (0..rows).map(texts).collect::<Text>()),
    ];
    Table::new("flows", columns).with_note("scenario", "Überlast in 20 µs")
}

fn cut(table: &Table, from: usize, to: usize) -> Table {
    let columns = table.columns.iter().map(|column| {
        let values = match &column.values {
            Values::F64(values) => Values::F64(values[from..to].to_vec()),
            Values::U64(values) => Values::U64(values[from..to].to_vec()),
            Values::I64(values) => Values::I64(values[from..to].to_vec()),
            Values::Bool(values) => Values::Bool(values[from..to].to_vec()),
            Values::Text(text) => Values::Text((from..to).map(|row| text.row(row)).collect()),
        };
        Column { values, ..column.clone() }
    });
    Table { columns: columns.collect(), ..table.clone() }
}

/// Floats by their bits, so that NaN equals itself and zero differs from minus zero.
fn by_bits(mut table: Table) -> Table {
    for column in &mut table.columns {
        if let Values::F64(values) = &column.values {
            let bits = values.iter().map(|value| value.map(f64::to_bits)).collect::<Vec<_>>();
            column.values = Values::U64(bits);
        }
    }
    table
}

#[test]
fn a_file_reads_back_with_every_unit_and_note() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    let table = flows(1_000);
    publish([Draft::of_table(&path, &table).unwrap()]).unwrap();
    let back = read_table(&path).unwrap();
    assert_eq!(back, table);
    assert_eq!(back.column("fct_ns").unwrap().unit, "ns");
    assert_eq!(back.note("scenario"), Some("Überlast in 20 µs"));
}

#[test]
fn a_table_of_many_row_groups_has_the_same_bytes_in_whatever_batches_it_comes() {
    let table = flows(300_000);
    let whole = to_parquet(&table).unwrap();
    let mut writer = TableWriter::new(Vec::new(), &table).unwrap();
    let mut from = 0;
    for size in (1..).map(|n: usize| n * n * 7) {
        let to = table.rows().min(from + size);
        writer.push_batch(&cut(&table, from, to)).unwrap();
        from = to;
        if from == table.rows() {
            break;
        }
    }
    assert!(writer.finish().unwrap() == whole, "batches show in the bytes");
    assert!(from_parquet("memory", whole).unwrap() == table, "a long table reads back differently");
}

#[test]
fn a_batch_of_other_columns_is_refused() {
    let mut writer = TableWriter::new(Vec::new(), &flows(0)).unwrap();
    let mut other = flows(3);
    other.columns[1].unit = "us".into();
    let refusal = writer.push_batch(&other).unwrap_err().to_string();
    assert!(refusal.contains("column fct_ns (unit \"us\""), "{refusal}");
    other = flows(3);
    other.columns.pop();
    let refusal = writer.push_batch(&other).unwrap_err().to_string();
    assert!(refusal.contains("has no more columns where"), "{refusal}");
    writer.push_batch(&flows(3)).unwrap();
    assert_eq!(from_parquet("memory", writer.finish().unwrap()).unwrap(), flows(3));
}

/// A disk that is full after so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_shows() {
    let (table, whole) = (flows(100_000), to_parquet(&flows(100_000)).unwrap().len());
    for room in [0, 4, whole / 2, whole - 1] {
        let written = TableWriter::new(Full(room), &table).and_then(|mut writer| {
            writer.push_batch(&table)?;
            writer.finish()
        });
        let error = written.map(drop).unwrap_err().to_string();
        assert!(error.starts_with("table flows: could not be written"), "{room}: {error}");
    }
}

#[test]
fn what_is_no_table_of_ours_says_so() {
    let whole = to_parquet(&flows(100)).unwrap();
    for bytes in [vec![], b"PAR1".to_vec(), whole[..whole.len() - 1].to_vec()] {
        let error = from_parquet("flows.parquet", bytes).unwrap_err();
        assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
        assert!(error.to_string().starts_with("flows.parquet: not a Parquet table"), "{error}");
    }
}

fn values(rows: usize) -> impl Strategy<Value = Values> {
    fn some<T: Strategy>(rows: usize, value: T) -> impl Strategy<Value = Vec<Option<T::Value>>> {
        prop::collection::vec(prop::option::weighted(0.8, value), rows)
    }
    let bits = any::<u64>().prop_map(f64::from_bits);
    let float = prop_oneof![any::<f64>(), bits, Just(-0.0), Just(0.0), Just(f64::NAN)];
    prop_oneof![
        some(rows, float).prop_map(Values::F64),
        some(rows, any::<u64>()).prop_map(Values::U64),
        some(rows, any::<i64>()).prop_map(Values::I64),
        some(rows, any::<bool>()).prop_map(Values::Bool),
        some(rows, ".{0,12}").prop_map(|rows| Values::Text(rows.into_iter().collect())),
    ]
}

fn tables() -> impl Strategy<Value = Table> {
    (0usize..6, 0usize..40).prop_flat_map(|(columns, rows)| {
        let column = (".{0,8}", ".{0,8}", ".{0,20}", values(rows));
        let columns = prop::collection::vec(column, columns);
        (".{0,8}", columns, prop::collection::vec((".{0,8}", ".{0,20}"), 0..3)).prop_map(|(name, columns, notes)| {
            let columns = columns
                .into_iter()
                .enumerate()
                .map(|(n, (name, unit, meaning, values))| Column::new(&format!("{n}{name}"), &unit, &meaning, values));
            let table = Table::new(&name, columns.collect());
            notes
                .iter()
                .enumerate()
                .fold(table, |table, (n, (name, text))| table.with_note(&format!("{n}{name}"), text))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_reads_back_and_is_written_alike(table in tables()) {
        let bytes = to_parquet(&table).unwrap();
        let back = from_parquet("memory", bytes.clone()).unwrap();
        prop_assert_eq!(to_parquet(&back).unwrap() == bytes, true, "the same table, other bytes");
        prop_assert_eq!(by_bits(back), by_bits(table));
    }
}
