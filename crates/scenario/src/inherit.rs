//! Schemes that copy the keys of another scheme: `like = "NAME"`.

use super::schemes::name;
use shallop_options::suggest::advice;
use shallop_options::{Item, Problem, RawValue, Table};

/// Replaces `like` in each scheme by the keys of the scheme it names, except for the name and for keys that are
/// written.
///
/// # Errors
/// If no scheme above it has that name.
pub(super) fn resolve(root: &mut Item) -> Result<(), Problem> {
    let RawValue::Table(top) = &mut root.value else { return Ok(()) };
    let Some(schemes) = top.get_mut("scheme") else { return Ok(()) };
    // What is no list of tables is told where schemes are read.
    let RawValue::List(schemes) = &mut schemes.item.value else { return Ok(()) };
    let mut above: Vec<(String, Table)> = Vec::new();
    for scheme in schemes {
        if let RawValue::Table(table) = &mut scheme.value
            && let Some(like) = table.remove("like")
        {
            let name = like.item.text().unwrap_or_default();
            let Some((_, other)) = above.iter().find(|(other, _)| other == name) else {
                let message = format!("`like`: there is no scheme {} above this one", like.item.found());
                let names = above.iter().map(|(name, _)| name.as_str());
                let help = if above.is_empty() {
                    "write the scheme that it is like above it".to_owned()
                } else {
                    advice(name, names)
                };
                return Err(like.item.problem(message).with_help(help));
            };
            for (key, entry) in other.iter().filter(|(key, _)| *key != "name") {
                table.entry(key.clone()).or_insert_with(|| entry.clone());
            }
        }
        let name = name(scheme).map(str::to_owned);
        above.extend(name.zip(scheme.table().cloned()));
    }
    Ok(())
}
