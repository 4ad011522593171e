//! The memory that peers can fill with data that the application has not read. The connections of an endpoint share it.

/// The sum of the flow-control windows from which on further connections get [`LEAST`], bytes.
const MEMORY: u64 = 512 << 20;
/// The least window of a connection, bytes: 2 Gb/s at a round trip of 1 ms, or 20 Mb/s at one of 100 ms.
pub(crate) const LEAST: u64 = 256 << 10;

/// The windows of all connections (RFC 9000, 4.1).
#[derive(Debug, Default)]
pub(crate) struct ReceiveWindows {
    granted: u64,
}

impl ReceiveWindows {
    /// The window of a connection that could use `wanted` bytes: at most half of what is left.
    pub(crate) fn grant(&mut self, wanted: u64) -> u64 {
        let left = MEMORY.saturating_sub(self.granted);
        let window = wanted.min((left / 2).max(LEAST));
        self.granted += window;
        window
    }

    /// Returns the window of a connection that has ended.
    pub(crate) fn release(&mut self, window: u64) {
        self.granted = self.granted.saturating_sub(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_connections_share_768_mib_and_return_them() {
        let mut windows = ReceiveWindows::default();
        let all: Vec<u64> = (0..1_024).map(|_| windows.grant(64 << 20)).collect();
        assert_eq!((all[0], all[6], all[7], all[1_023]), (64 << 20, 64 << 20, 32 << 20, LEAST));
        assert!(windows.granted <= MEMORY + 1_024 * LEAST && windows.granted == all.iter().sum::<u64>());
        for &window in &all {
            windows.release(window);
        }
        assert_eq!((windows.granted, windows.grant(1_000)), (0, 1_000));
    }
}
