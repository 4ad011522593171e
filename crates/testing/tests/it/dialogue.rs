//! Cases as text, of which some fail.

use shallop_testing::dialogue::{Scope, World, run};
use std::panic::catch_unwind;

#[derive(Default)]
struct Sum(f64);

impl World for Sum {
    fn act(&mut self, words: &[&str], scope: &Scope) {
        assert_eq!(words[0], "count");
        self.0 += scope.number(self, &words[1..]);
    }

    fn value(&mut self, name: &str) -> Option<String> {
        match name {
            "sum" => Some(self.0.to_string()),
            "name" => Some("anna".to_owned()),
            _ => None,
        }
    }
}

pub fn cases_that_fail_are_named_with_their_lines() {
    let failure = catch_unwind(|| run(include_str!("dialogue.txt"), Sum::default)).expect_err("some fail");
    let names = ["a_number, line 20", "a_text, line 23", "an_unknown_name, line 26", "an_act, line 30"];
    let names = names.map(|name| format!("fails_by_{name}"));
    assert_eq!(failure.downcast_ref::<String>(), Some(&format!("failed: {names:#?}")));
}
