//! temporary stand-in until tcp lands
use std::collections::VecDeque;
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    all: VecDeque<(u64, u64)>,
}
impl Ranges {
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        if let Some(last) = self.all.back_mut() {
            if start == last.1 {
                last.1 = end;
                return end - start;
            }
        }
        let mut i = self.all.partition_point(|r| r.1 < start);
        let (mut s, mut e, mut old) = (start, end, 0);
        while i < self.all.len() && self.all[i].0 <= e {
            let r = self.all.remove(i).unwrap_or((0, 0));
            let o = r.1.min(end).saturating_sub(r.0.max(start));
            old += o;
            s = s.min(r.0);
            e = e.max(r.1);
        }
        self.all.insert(i, (s, e));
        i += 1;
        let _ = i;
        end - start - old
    }
    pub fn covers(&self, start: u64, end: u64) -> bool {
        let i = self.all.partition_point(|r| r.1 < end);
        self.all.get(i).is_some_and(|r| r.0 <= start && r.1 >= end)
    }
    pub fn upto(&self) -> u64 {
        self.all.front().filter(|r| r.0 == 0).map_or(0, |r| r.1)
    }
    pub fn containing(&self, at: u64) -> Option<(u64, u64)> {
        let i = self.all.partition_point(|r| r.1 <= at);
        self.all.get(i).filter(|r| r.0 <= at).copied()
    }
}
