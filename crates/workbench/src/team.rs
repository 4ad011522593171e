//! Threads that simulate the parts of one network together.

use rayon::prelude::*;
use shallop_measure::Team;

/// The threads of the pool of the calling thread, which have nothing else to do: a thread that waits for the others
/// would begin with other work.
#[derive(Clone, Copy, Debug)]
pub struct PoolTeam;

impl Team for PoolTeam {
    fn run(&self, tasks: &mut [&mut (dyn FnMut() + Send)]) {
        tasks.par_iter_mut().with_max_len(1).for_each(|task| task());
    }
}
