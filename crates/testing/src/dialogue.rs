//! Test cases as text: what is done with the system under test, and what must hold then.
//!
//! ```text
//! # A comment.
//! to lose SHARE
//!     link loss=$SHARE
//!
//! a_transfer_survives_loss
//!     for share,most in 0,1s 0.1,2s
//!         lose $share
//!         let before = now
//!         send 2MB
//!         expect now - before < $most
//! ```
//!
//! Each block stands under its head, indented. `to` begins a procedure, here `lose` with one parameter; every other
//! head is the name of a case. `for` repeats its block with each value, or tuple of values, in place of `$name`;
//! `1..20` is each number from 1 to 20. `expect` compares sums of words with `<`, `<=`, `>`, `>=` and `=`, also in a
//! chain; `is` compares a word with a text of several words, and `has` looks for them in it. A word is a variable of
//! `let`, a value of the [`World`], or itself: a text, or a number with a unit (`us`, `ms`, `s`: seconds; `KB`, `MB`:
//! bytes). All other lines are acts of the world.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The system under test. A panic ends the case as failed.
pub trait World {
    /// Does what a line says.
    fn act(&mut self, words: &[&str], scope: &Scope);

    /// A value of the system, if it has one of this name.
    fn value(&mut self, name: &str) -> Option<String>;
}

/// The variables of a case.
#[derive(Default)]
pub struct Scope(BTreeMap<String, String>);

impl Scope {
    fn text(&self, world: &mut impl World, words: &[&str]) -> String {
        let [name] = words else { return words.join(" ") };
        self.0.get(*name).cloned().or_else(|| world.value(name)).unwrap_or_else(|| (*name).to_owned())
    }

    /// The value of a sum of words: products first, then sums, then the largest of several (`max`).
    ///
    /// # Panics
    /// A word is no number.
    pub fn number(&self, world: &mut impl World, words: &[&str]) -> f64 {
        for signs in [&["max"][..], &["+", "-"], &["*", "/"]] {
            if let Some(at) = words.iter().rposition(|word| signs.contains(word)) {
                let [left, right] = [&words[..at], &words[at + 1..]].map(|words| self.number(world, words));
                return match words[at] {
                    "max" => left.max(right),
                    "+" => left + right,
                    "-" => left - right,
                    "*" => left * right,
                    _ => left / right,
                };
            }
        }
        let text = self.text(world, words);
        number(&text).unwrap_or_else(|| panic!("no number: {text:?} of {words:?}"))
    }

    /// Compares as a line of `expect` says.
    ///
    /// # Errors
    /// The comparison that does not hold, with both values.
    ///
    /// # Panics
    /// The line is no comparison.
    pub fn check(&self, world: &mut impl World, words: &[&str]) -> Result<(), String> {
        let shown = |[left, right]: [String; 2], sign| format!("{}: {left} {sign} {right}", words.join(" "));
        if let Some(at) = words.iter().position(|word| ["has", "is"].contains(word)) {
            let [left, right] = [&words[..at], &words[at + 1..]].map(|words| self.text(world, words));
            let holds = if words[at] == "is" { left == right } else { left.contains(&right) };
            return if holds { Ok(()) } else { Err(shown([left, right], words[at])) };
        }
        let is_sign = |word: &&str| ["<", "<=", ">", ">=", "="].contains(word);
        let sides: Vec<&[&str]> = words.split(is_sign).collect();
        let signs: Vec<&str> = words.iter().copied().filter(is_sign).collect();
        assert!(!signs.is_empty(), "no comparison: {words:?}");
        for (pair, sign) in sides.windows(2).zip(signs) {
            if sign == "=" && pair[1].len() == 1 && number(&self.text(world, pair[1])).is_none() {
                let [left, right] = [pair[0], pair[1]].map(|words| self.text(world, words));
                (left == right).then_some(()).ok_or_else(|| shown([left, right], sign))?;
                continue;
            }
            let [left, right] = [pair[0], pair[1]].map(|words| self.number(world, words));
            let holds = match sign {
                "<" => left < right,
                ">" => left > right,
                "<=" => left <= right,
                ">=" => left >= right,
                _ => left.total_cmp(&right).is_eq(),
            };
            holds.then_some(()).ok_or_else(|| shown([left, right].map(|value| value.to_string()), sign))?;
        }
        Ok(())
    }
}

/// The number that a text is, in seconds or bytes if it has a unit.
pub fn number(text: &str) -> Option<f64> {
    let units = [("us", 1.0, 1e6), ("ms", 1.0, 1e3), ("KB", 1e3, 1.0), ("MB", 1e6, 1.0), ("s", 1.0, 1.0)];
    let unit = units.iter().find_map(|&(unit, times, over)| Some((text.strip_suffix(unit)?, times, over)));
    let (digits, times, over) = unit.unwrap_or((text, 1.0, 1.0));
    Some(digits.parse::<f64>().ok()? * times / over)
}

type Line = (usize, String);
/// The parameters and the lines of each procedure.
type Procedures<'a> = BTreeMap<&'a str, (Vec<&'a str>, &'a [Line])>;

struct Run<'a, W> {
    world: W,
    scope: Scope,
    procedures: &'a Procedures<'a>,
    line: usize,
}

/// Runs every case of a text, each with a new world.
///
/// # Panics
/// A case has failed. The message names all that have, with their lines.
pub fn run<W: World>(text: &str, new: impl Fn() -> W) {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.trim().starts_with('#'));
    let lines: Vec<Line> = lines.map(|(number, line)| (number, line.to_owned())).collect();
    let blocks = lines.chunk_by(|_, (_, next)| next.starts_with(' ')).map(|block| (&*block[0].1, &block[1..]));
    let (procedures, cases): (Vec<_>, Vec<_>) = blocks.partition(|(head, _)| head.starts_with("to "));
    let procedures = procedures.into_iter().map(|(head, body)| {
        let words: Vec<&str> = head.split_whitespace().collect();
        (words[1], (words[2..].to_vec(), body))
    });
    let procedures = procedures.collect();
    let mut failed = Vec::new();
    for (name, body) in &cases {
        let mut run = Run { world: new(), scope: Scope::default(), procedures: &procedures, line: 0 };
        if catch_unwind(AssertUnwindSafe(|| run.block(body))).is_err() {
            failed.push(format!("{name}, line {}", run.line));
        }
    }
    assert!(!cases.is_empty() && failed.is_empty(), "failed: {failed:#?}");
}

fn with(lines: &[Line], names: &[&str], values: &[&str]) -> Vec<Line> {
    assert_eq!(names.len(), values.len(), "other values than names: {names:?} {values:?}");
    let pairs = || names.iter().zip(values);
    let fill =
        |text: &String| pairs().fold(text.clone(), |text, (name, value)| text.replace(&format!("${name}"), value));
    lines.iter().map(|(number, text)| (*number, fill(text))).collect()
}

impl<W: World> Run<'_, W> {
    fn block(&mut self, lines: &[Line]) {
        let indent = |(_, text): &Line| text.len() - text.trim_start().len();
        let Some(first) = lines.first().map(indent) else { return };
        for part in lines.chunk_by(|_, next| indent(next) > first) {
            let words: Vec<&str> = part[0].1.split_whitespace().collect();
            self.line = part[0].0;
            self.line(&words, &part[1..]);
        }
    }

    fn line(&mut self, words: &[&str], body: &[Line]) {
        match *words {
            ["for", names, "in", ref values @ ..] => {
                for value in values.iter().flat_map(|value| range(value)) {
                    let [names, values] = [names, &value].map(|list| list.split(',').collect::<Vec<_>>());
                    self.block(&with(body, &names, &values));
                }
            }
            ["let", name, "=", ref sum @ ..] => {
                let value = self.scope.number(&mut self.world, sum);
                self.scope.0.insert(name.to_owned(), value.to_string());
            }
            ["expect", ref claim @ ..] => {
                self.scope.check(&mut self.world, claim).unwrap_or_else(|why| panic!("does not hold: {why}"));
            }
            [name, ref values @ ..] if let Some((names, body)) = self.procedures.get(name) => {
                // The last parameter takes all words that are left.
                let (firsts, rest) = values.split_at(names.len().saturating_sub(1).min(values.len()));
                let rest = rest.join(" ");
                let values: Vec<&str> = firsts.iter().copied().chain((!rest.is_empty()).then_some(&*rest)).collect();
                self.block(&with(body, names, &values));
            }
            _ => self.world.act(words, &self.scope),
        }
    }
}

fn range(value: &str) -> Vec<String> {
    let ends = value.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    ends.map_or_else(
        || vec![value.to_owned()],
        |(first, last): (u64, u64)| (first..=last).map(|it| it.to_string()).collect(),
    )
}
