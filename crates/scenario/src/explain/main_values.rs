//! The few values of `check --explain` that decide most.

use super::Section;
use shallop_results::DerivedValue;

/// How the names of the values begin that decide most: of the network and its traffic, and of a scheme.
const MAIN: [&str; 9] = [
    "links of the file", "mean rate of", "flows", "largest load of a link", "largest base round trip", "buffer of",
    "buffer over bandwidth-delay product", "shared memory of", "ECN threshold",
];
const MAIN_OF_SCHEMES: [&str; 2] = ["highest data rate", "waiting time"];
/// The most values of either kind.
const MAX_MAIN: usize = 7;

/// About ten of the first point's values, those that decide most. Equal values of several schemes are one value with
/// the names of these schemes.
pub fn main_values(sections: &[Section], schemes: usize) -> Section {
    let mut main = Section { title: "the main values".to_owned(), ..Section::default() };
    let starts = |line: &&DerivedValue, names: &[&str]| names.iter().any(|name| line.what.starts_with(name));
    let (network, of_schemes) = sections.split_at(1.min(sections.len()));
    let of_network = network.iter().flat_map(|section| &section.lines);
    // "flows that start" and "flows with symmetric paths" are not among them.
    let of_network = of_network.filter(|line| starts(line, &MAIN) && !line.what.starts_with("flows "));
    main.lines.extend(of_network.take(MAX_MAIN).cloned());
    let mut equal: Vec<(&DerivedValue, Vec<&str>)> = Vec::new();
    for section in &of_schemes[..schemes.min(of_schemes.len())] {
        let name = section.title.strip_prefix("scheme ").unwrap_or(&section.title);
        let name = name.split(", point ").next().unwrap_or(name);
        for line in section.lines.iter().filter(|line| starts(line, &MAIN_OF_SCHEMES)) {
            match equal.iter_mut().find(|(other, _)| *other == line) {
                Some((_, names)) => names.push(name),
                None => equal.push((line, vec![name])),
            }
        }
    }
    for (line, names) in equal.into_iter().take(MAX_MAIN) {
        main.say(format!("{}, {}", line.what, names.join(", ")), &line.value, &line.how);
    }
    main
}
