//! The structure of a file: rows in both directions of a link, links of a node to itself, and parts of a network.

use super::{FileLink, Wrong};
use std::collections::BTreeMap;

/// Lines as in "line 4" or "lines 4, 6-9".
pub(super) fn lines(lines: &[usize]) -> String {
    let mut lines = lines.to_vec();
    lines.sort_unstable();
    lines.dedup();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &line in &lines {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == line => *end = line,
            _ => runs.push((line, line)),
        }
    }
    let told = |&(from, to): &(usize, usize)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    let told: Vec<String> = runs.iter().map(told).collect();
    format!("line{} {}", if lines.len() == 1 { "" } else { "s" }, told.join(", "))
}

/// Joins rows in both directions of a link to one link, and notes what became of which lines.
///
/// Between two nodes, rows in opposite directions with equal values are one link; further rows in opposite directions
/// are one link whose directions differ, in the order of the file. Other rows are links of their own.
pub(super) fn join(rows: &[FileLink], directed: bool, names: &[String], notes: &mut Vec<String>) -> Vec<FileLink> {
    let mut between: BTreeMap<(usize, usize), [Vec<usize>; 2]> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let (a, b) = row.between;
        between.entry((a.min(b), a.max(b))).or_default()[usize::from(a > b)].push(index);
    }
    let mut back: Vec<Option<usize>> = vec![None; rows.len()];
    let (mut equal, mut single) = (Vec::new(), Vec::new());
    let (mut differ, mut parallel) = (Vec::new(), Vec::new());
    for (&(a, b), [forth_rows, back_rows]) in &between {
        let with_lines = |lines: String| format!("{}-{} ({lines})", names[a], names[b]);
        let mut same: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for &index in back_rows.iter().rev() {
            same.entry(rows[index].order(1)).or_default().push(index);
        }
        let mut left = [Vec::new(), Vec::new()];
        let mut taken = vec![false; back_rows.len()];
        for &index in forth_rows {
            match same.get_mut(&rows[index].order(0)).and_then(Vec::pop) {
                Some(other) => {
                    back[index.min(other)] = Some(index.max(other));
                    equal.extend([rows[index].line, rows[other].line]);
                    if let Ok(at) = back_rows.binary_search(&other) {
                        taken[at] = true;
                    }
                }
                None => left[0].push(index),
            }
        }
        left[1].extend(back_rows.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(&index, _)| index));
        // A row with values for each direction is a link of its own.
        let is_one_way = |index: &&usize| rows[**index].ways[0] == rows[**index].ways[1];
        let [one_way, other_way] = left.each_ref().map(|rows| rows.iter().filter(is_one_way).collect::<Vec<_>>());
        let pairs = one_way.len().min(other_way.len());
        for (&&one, &&other) in one_way.iter().zip(&other_way) {
            back[one.min(other)] = Some(one.max(other));
            differ.push(with_lines(lines(&[rows[one].line, rows[other].line])));
        }
        single.extend([one_way, other_way].iter().flat_map(|rows| &rows[pairs..]).map(|&&index| rows[index].line));
        if forth_rows.len().max(back_rows.len()) > 1 {
            let all: Vec<usize> = forth_rows.iter().chain(back_rows).map(|&index| rows[index].line).collect();
            parallel.push(with_lines(lines(&all)));
        }
    }
    if !equal.is_empty() {
        notes.push(format!("rows in both directions with equal values are one link: {}", lines(&equal)));
    }
    if !differ.is_empty() {
        notes.push(format!("rows in both directions with different values are one link: {}", differ.join(", ")));
    }
    if directed && !single.is_empty() {
        notes.push(format!("rows in one direction of a directed graph hold for both: {}", lines(&single)));
    }
    if !parallel.is_empty() {
        notes.push(format!("warning: parallel links, each with its own rate: {}", parallel.join(", ")));
    }
    let behind: std::collections::BTreeSet<usize> = back.iter().flatten().copied().collect();
    let joined = rows.iter().enumerate().filter(|(index, _)| !behind.contains(index)).map(|(index, row)| {
        let back = back[index].map_or(row.ways[1], |other| rows[other].ways[0]);
        FileLink { ways: [row.ways[0], back], ..*row }
    });
    joined.collect()
}

/// The nodes of each part of a network, the largest part first.
fn parts(count: usize, ends: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut near = vec![Vec::new(); count];
    for &(a, b) in ends {
        near[a].push(b);
        near[b].push(a);
    }
    let mut seen = vec![false; count];
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for first in 0..count {
        let (mut open, mut part) = (vec![first], Vec::new());
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                part.push(node);
                open.extend(&near[node]);
            }
        }
        if !part.is_empty() {
            part.sort_unstable();
            parts.push(part);
        }
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts
}

/// Whether each node stays: all nodes, or with `largest` those of the largest part; of equal parts it is the first.
pub(super) fn component(
    names: &[String], ends: &[(usize, usize)], largest: bool, notes: &mut Vec<String>,
) -> Result<Vec<bool>, Wrong> {
    let parts = parts(names.len(), ends);
    if parts.len() == 1 {
        return Ok(vec![true; names.len()]);
    }
    let told = |part: &Vec<usize>| {
        let more = if part.len() > 5 { ", ..." } else { "" };
        let some: Vec<&str> = part.iter().take(5).map(|&node| names[node].as_str()).collect();
        format!("{}{more}", some.join(", "))
    };
    let list = |parts: &[Vec<usize>]| {
        let some: Vec<String> = parts.iter().take(5).map(told).collect();
        format!("{}{}", some.join("; "), if parts.len() > 5 { "; ..." } else { "" })
    };
    if !largest {
        return Err(Wrong {
            line: None,
            message: format!("the network is in {} parts: {}", parts.len(), list(&parts)),
            help: "links must join all nodes; component = \"largest\" in [topology] takes the largest part".into(),
        });
    }
    let mut stays = vec![false; names.len()];
    parts[0].iter().for_each(|&node| stays[node] = true);
    let out = names.len() - parts[0].len();
    notes.push(format!("{out} of {} nodes are left out, as no link joins them: {}", names.len(), list(&parts[1..])));
    Ok(stays)
}
