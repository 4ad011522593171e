//! Claims about several schemes or points: `schemes`, `points` and a list under `relative_to` make one claim for each
//! combination. A key with different values is a table by name: `high = { cubic = 1, dctcp = 2 }`.

use super::claims::{ClaimOptions, DiffersOptions};
use shallop_options::suggest::advice;
use shallop_options::{Entry, Item, Options, Problem, RawValue, Table, find};

/// Keys of a claim that cannot be tables by the names of schemes or points.
pub(super) const COMMON: [&str; 6] = {
    let key = ClaimOptions::KEY;
    [key.what.name, key.scheme.name, key.schemes.name, key.point.name, key.points.name, key.relative_to.name]
};

/// For each axis of combinations, the key for one name and the key for several names.
const AXES: [(&str, &str); 3] = [
    (ClaimOptions::KEY.scheme.name, ClaimOptions::KEY.schemes.name),
    (ClaimOptions::KEY.relative_to.name, ClaimOptions::KEY.relative_to.name),
    (ClaimOptions::KEY.point.name, ClaimOptions::KEY.points.name),
];

/// Names of schemes or points, each with the item in the text that has the name.
type Names<'a> = Vec<(&'a str, &'a Item)>;

/// The name on each axis of [`AXES`]; `None` where the claim names nothing.
type Combination<'a> = [Option<(&'a str, &'a Item)>; 3];

/// The names in a `[[claim]]` on each axis of [`AXES`]: schemes, schemes of `relative_to`, points.
struct About<'a> {
    /// The name of the claim's section, for errors.
    section: &'a str,
    names: [Names<'a>; 3],
}

/// Expands a `[[claim]]` to claims about one scheme and at most one point: first those of the first scheme, with all
/// points. Missing keys come from `defaults`.
///
/// # Errors
/// If something is named twice that is none of `schemes` and `points`, or a table is by other names.
pub(super) fn expand(
    section: &str, item: &Item, [schemes, points]: [&[&str]; 2], defaults: Option<&Table>,
) -> Result<Vec<Item>, Problem> {
    let Some(table) = item.table() else { return Ok(vec![item.clone()]) };
    let mut about = About { section, names: [vec![], vec![], vec![]] };
    for ((names, axis), known) in about.names.iter_mut().zip(AXES).zip([schemes, schemes, points]) {
        *names = self::names(section, table, axis, known)?;
    }
    let one_by_one = |names: &Names<'_>| match names.len() {
        0 => vec![None],
        several => (0..several).map(Some).collect(),
    };
    let [schemes, others, points] = about.names.each_ref().map(one_by_one);
    let mut claims = Vec::new();
    for scheme in schemes {
        for other in &others {
            for point in &points {
                let mut combination = [scheme, *other, *point].into_iter().zip(&about.names);
                let combination = std::array::from_fn(|_| {
                    let (number, names) = combination.next()?;
                    Some(names[number?])
                });
                let mut claim = about.one(table, combination)?;
                for (key, entry) in defaults.into_iter().flatten() {
                    claim.entry(key.clone()).or_insert_with(|| entry.clone());
                }
                claims.push(Item { value: RawValue::Table(claim), at: item.at.clone() });
            }
        }
    }
    Ok(claims)
}

/// The names on one axis: the value of the key `one`, or of the key `several`.
fn names<'a>(
    section: &str, table: &'a Table, (one, several): (&str, &str), known: &[&str],
) -> Result<Names<'a>, Problem> {
    let list = table.get(several).filter(|list| one != several || list.item.text().is_none());
    let Some(list) = list else {
        let item = table.get(one).map(|entry| &entry.item);
        return Ok(item.and_then(|item| Some((item.text()?, item))).into_iter().collect());
    };
    let reject = |item: &Item, message: String| item.problem(format!("`{several}` in {section}: {message}"));
    if one != several && table.contains_key(one) {
        return Err(reject(&list.item, format!("there is a `{one}` as well")).with_help("write one of the two"));
    }
    let wrong = |item: &Item| reject(item, format!("expected a list of names, found {}", item.found()));
    let mut names: Names<'a> = Vec::new();
    for item in list.item.items() {
        let name = item.text().ok_or_else(|| wrong(item))?;
        if names.iter().any(|(other, _)| *other == name) {
            return Err(reject(item, format!("\"{name}\" is there twice")));
        }
        if !known.contains(&name) {
            let problem = reject(item, format!("there is no {one} \"{name}\""));
            return Err(problem.with_help(advice(name, known.iter().copied())));
        }
        names.push((name, item));
    }
    if names.is_empty() { Err(wrong(&list.item)) } else { Ok(names) }
}

impl About<'_> {
    /// The keys of the claim about one combination.
    fn one(&self, table: &Table, combination: Combination<'_>) -> Result<Table, Problem> {
        let mut claim = Table::new();
        for (key, entry) in table {
            let item = match key.as_str() {
                "schemes" | "points" => None,
                common if COMMON.contains(&common) => Some(entry.item.clone()),
                "differs" => self.band(&entry.item, combination)?,
                _ => self.pick(key, &entry.item, combination)?,
            };
            claim.extend(item.map(|item| (key.clone(), Entry { key: entry.key.clone(), item })));
        }
        for ((key, _), named) in AXES.into_iter().zip(combination) {
            let entry = named.map(|(_, item)| Entry { key: item.at.clone(), item: item.clone() });
            claim.extend(entry.map(|entry| (key.to_owned(), entry)));
        }
        Ok(claim)
    }

    /// The value of a key for a combination: the item itself or, of a table by names, the entry for the combination.
    fn pick(&self, key: &str, item: &Item, combination: Combination<'_>) -> Result<Option<Item>, Problem> {
        let by_names = |table: &&Table| key != "differs" || !is_band(table);
        let Some(table) = item.table().filter(by_names) else { return Ok(Some(item.clone())) };
        let Some(axis) = self.axis(key, table)? else {
            return Err(item.problem(format!("`{key}` in {}: the table is empty", self.section)));
        };
        match combination[axis].and_then(|(name, _)| table.get(name)) {
            Some(entry) => self.pick(key, &entry.item, combination),
            None => Ok(None),
        }
    }

    /// The index in [`AXES`] of the axis on which the names in a table are.
    fn axis(&self, key: &str, table: &Table) -> Result<Option<usize>, Problem> {
        let mut axis = None;
        for (name, entry) in table {
            let reject = |message: String| entry.key.problem(format!("`{key}` in {}: {message}", self.section));
            let has = |names: &Names<'_>| names.iter().any(|(other, _)| other == name);
            let matching: Vec<usize> = (0..3).filter(|&axis| has(&self.names[axis])).collect();
            let [found] = matching.as_slice() else {
                if let [one, other, ..] = matching.as_slice() {
                    let (one, other) = (AXES[*one].0, AXES[*other].0);
                    return Err(reject(format!("\"{name}\" is a `{one}` and a `{other}`")));
                }
                let names = self.names.iter().flatten().map(|(name, _)| *name);
                let message = format!("\"{name}\" is no scheme or point of this claim");
                return Err(reject(message).with_help(advice(name, names)));
            };
            if axis.is_some_and(|axis| axis != *found) {
                let problem = reject("names of schemes and of points in one table".to_owned());
                return Err(problem.with_help("a table by points may be inside a table by schemes"));
            }
            axis = Some(*found);
        }
        Ok(axis)
    }

    /// The value of `differs` for a combination. Its bounds may be tables by names; `None` if neither bound has an
    /// entry for the combination.
    fn band(&self, item: &Item, combination: Combination<'_>) -> Result<Option<Item>, Problem> {
        let Some(item) = self.pick("differs", item, combination)? else { return Ok(None) };
        let Some(table) = item.table() else { return Ok(Some(item)) };
        let mut band = Table::new();
        for (key, entry) in table {
            let item = self.pick(key, &entry.item, combination)?;
            band.extend(item.map(|item| (key.clone(), Entry { key: entry.key.clone(), item })));
        }
        let bounds = |table: &Table| table.contains_key("low") || table.contains_key("high");
        let none = bounds(table) && !bounds(&band);
        Ok((!none).then_some(Item { value: RawValue::Table(band), at: item.at.clone() }))
    }
}

/// Whether a table under `differs` is a range (with the keys `low`, `high`, `why`), and not a table of ranges by names.
fn is_band(table: &Table) -> bool {
    let keys = DiffersOptions::keys();
    table.keys().any(|key| find(&keys, key).is_some())
}
