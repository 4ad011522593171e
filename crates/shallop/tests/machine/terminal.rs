//! Output of the command on a terminal.

use crate::support::script::hold;
use shallop_testing::{Outcome, programs};

pub fn tables_fit_the_terminal_and_say_what_is_left_out() -> Outcome {
    programs(&["script", "stty"])?;
    hold("machine/scripts/terminal.txt", "tables_fit_the_terminal_and_say_what_is_left_out", &[]);
    Ok(())
}

pub fn colours_are_for_terminals_that_want_them() -> Outcome {
    programs(&["script", "stty"])?;
    hold("machine/scripts/terminal.txt", "colours_are_for_terminals_that_want_them", &[]);
    Ok(())
}
