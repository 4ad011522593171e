//! Threads that simulate the parts of one network together.

use shallop_measure::Team;

/// The threads of the pool of the calling thread, which have nothing else to do: a thread that waits for the others
/// would begin with other work.
#[derive(Clone, Copy, Debug)]
pub struct PoolTeam;

impl Team for PoolTeam {
    fn run(&self, tasks: &mut [&mut (dyn FnMut() + Send)]) {
        match tasks {
            [] => {}
            [task] => task(),
            _ => {
                let (some, others) = tasks.split_at_mut(tasks.len() / 2);
                rayon::join(|| self.run(some), || self.run(others));
            }
        }
    }
}
