//! Help texts for misspelt names: the most similar known name, and the list of allowed names.

/// Joins names with commas; names after the fortieth are replaced by an ellipsis.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 40;
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(", ...");
    }
    text
}

/// Known names that resemble `name`, at most three, the most similar first. Similarity is the normalised
/// Damerau-Levenshtein distance in lower case, at least 0.5.
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&name, &known.to_lowercase());
    let mut all: Vec<(f64, &str)> = known.into_iter().map(|k| (likeness(k), k)).collect();
    all.retain(|(likeness, _)| *likeness >= 0.5);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Help text for an unknown name: the most similar known name, if there is one, and all allowed names.
pub fn advice<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let allowed = format!("allowed here: {}", list(known.clone()));
    match near(name, known).first() {
        Some(near) => format!("did you mean \"{near}\"? {allowed}"),
        None => allowed,
    }
}
