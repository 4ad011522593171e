//! Reads lists of sections, such as `[[group]]`.

use shallop_options::{Item, Key, Problem, RawValue, Section};

/// The sections in a list, each with a name for errors, such as `[[group]] "all"`.
///
/// # Errors
/// If it is no row, or an empty one.
pub(super) fn rows<'a>(of: &Section<'a>, key: impl Into<&'static Key>) -> Result<Vec<(String, &'a Item)>, Problem> {
    let key = key.into();
    let Some(item) = of.item(key) else { return Ok(Vec::new()) };
    let key = key.name;
    let RawValue::List(items) = &item.value else {
        let message = format!("`{key}` should be sections in double brackets, [[{key}]]");
        return Err(item.problem(message));
    };
    if items.is_empty() {
        let problem = item.problem(format!("`{key}` in {}: the list is empty", of.name));
        return Err(problem.with_help(format!("write one [[{key}]] or more")));
    }
    let inside = if of.name == "[topology]" { "topology." } else { "" };
    let named = |(index, item): (usize, &'a Item)| {
        let name = super::schemes::name(item).filter(|name| !name.trim().is_empty());
        let name = name.map_or_else(|| format!("number {}", index + 1), |name| format!("\"{name}\""));
        (format!("[[{inside}{key}]] {name}"), item)
    };
    Ok(items.iter().enumerate().map(named).collect())
}

/// Checks that `name` is not among the names of earlier sections.
///
/// # Errors
/// If this name is taken.
pub(super) fn unique<'a>(
    taken: impl IntoIterator<Item = &'a str>, name: &str, (section, key): (&Section<'_>, &'static Key),
) -> Result<(), Problem> {
    if taken.into_iter().any(|other| other == name) {
        let problem = section.place(key).problem(format!("the name \"{name}\" is taken"));
        let help = match section.item(key) {
            Some(_) => "names are unique, since other keys refer to them",
            None => "give it a `name` of its own",
        };
        return Err(problem.with_help(help));
    }
    Ok(())
}
