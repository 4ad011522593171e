//! Built-in flow-size distributions. Each is a file in `data` whose first lines name its source.

use super::{Sizes, SizesError};

/// Name and text of each built-in distribution, in the order in which lists show them.
const TABLES: [(&str, &str); 11] = [
    ("web-search", include_str!("../data/web-search.csv")),
    ("data-mining", include_str!("../data/data-mining.csv")),
    ("cache-follower", include_str!("../data/cache-follower.csv")),
    ("cache-bcc", include_str!("../data/cache-bcc.csv")),
    ("web-server", include_str!("../data/web-server.csv")),
    ("hadoop", include_str!("../data/hadoop.csv")),
    ("wan", include_str!("../data/wan.csv")),
    ("ali-storage", include_str!("../data/ali-storage.csv")),
    ("cache-follower-homa", include_str!("../data/cache-follower-homa.csv")),
    ("web-server-homa", include_str!("../data/web-server-homa.csv")),
    ("hadoop-homa", include_str!("../data/hadoop-homa.csv")),
];

/// Names of all built-in distributions, in the order in which lists show them.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> + Clone {
    TABLES.iter().map(|&(name, _)| name)
}

/// The built-in distribution `name`; `None` if there is no such distribution.
pub fn named(name: &str) -> Option<Sizes> {
    // A test parses every table.
    read(name)?.ok()
}

/// Text of a built-in distribution: comments with its source, then `size,cdf` lines.
pub fn text(name: &str) -> Option<&'static str> {
    TABLES.iter().find(|table| table.0 == name).map(|table| table.1)
}

fn read(name: &str) -> Option<Result<Sizes, SizesError>> {
    text(name).map(|text| Sizes::parse(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Seed;

    fn table(name: &str) -> Sizes {
        read(name).unwrap().unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[test]
    fn tables_have_the_known_numbers_of_points_and_means() {
        for (name, points, linear) in [
            ("web-search", 12, 1_711_250.0),
            ("data-mining", 7, 7_487_883.7),
            ("cache-follower", 23, 712_573.5),
            ("cache-follower-homa", 331, 686_866.1),
            ("cache-bcc", 12, 935_452.5),
            ("web-server", 13, 66_121.0),
            ("web-server-homa", 441, 62_228.8),
            ("hadoop", 20, 120_420.8),
            ("hadoop-homa", 461, 121_849.0),
            ("ali-storage", 9, 40_869.8),
            ("wan", 9, 65_004_000.0),
        ] {
            let sizes = table(name);
            assert_eq!((sizes.name(), sizes.points().len()), (name, points));
            // Draws between points are rounded up, which adds half a byte on average; masses need no rounding.
            let masses: f64 = sizes
                .points()
                .windows(2)
                .map(|pair| {
                    let share = pair[1].share - pair[0].share;
                    if pair[0].size == pair[1].size { share } else { 0.0 }
                })
                .sum();
            let mass = masses + sizes.points()[0].share;
            let expected = linear + 0.5 * (1.0 - mass);
            assert!((sizes.mean() - expected).abs() < 0.06, "{name}: {} {expected}", sizes.mean());
        }
        assert_eq!(names().count(), 11);
        assert_eq!(named("websearch"), None);
    }

    #[test]
    fn web_search_and_data_mining_have_their_known_skew() {
        let search = table("web-search");
        assert_eq!(search.quantile(0.5), 73_077);
        assert!([(10_000, 0.15), (1_000_000, 0.7)].iter().all(|&(b, f)| (search.fraction_up_to(b) - f).abs() < 1e-12));
        // 30 % of the flows have 95 % of the bytes (thesis on Gemini, 3.4.1); 3 % have a mean of 20 MB.
        for (size, bytes) in [(1_000_000, 1_625_000.0), (10_000_000, 600_000.0)] {
            assert!(((1.0 - search.bytes_fraction_up_to(size)) * 1_711_250.0 - bytes).abs() < 1.0, "{size}");
        }
        let mining = table("data-mining");
        assert!((mining.fraction_up_to(10_000) - 0.8).abs() < 1e-12);
        assert!(((1.0 - mining.bytes_fraction_up_to(100_000_000)) * 7_487_883.7 - 5_500_000.0).abs() < 7.0);
    }

    #[test]
    fn the_mean_of_draws_is_the_mean_of_the_table() {
        for name in names() {
            let sizes = table(name);
            let mut stream = Seed::new(11).stream(name, 0);
            let (mut sum, mut squares, count) = (0.0, 0.0, 200_000);
            for _ in 0..count {
                let size = sizes.draw(&mut stream) as f64;
                (sum, squares) = (sum + size, squares + size * size);
            }
            let count = f64::from(count);
            let mean = sum / count;
            let error = ((squares / count - mean * mean) / count).sqrt();
            assert!((mean - sizes.mean()).abs() < 4.0 * error, "{name}: {mean} {error}");
        }
    }

    #[test]
    fn wan_flows_match_table_5_of_flashpass() {
        let wan = table("wan");
        assert!((wan.fraction_up_to(10_000_000) - 0.158).abs() < 1e-9);
        assert!((wan.mean() / 65e6 - 1.0).abs() < 1e-3, "{}", wan.mean());
        assert!((1_000_000_000..=5_000_000_000).contains(&wan.quantile(1.0)));
        assert!(text("wan").unwrap().starts_with("# SYNTHETIC"));
    }

    /// Table 2 of Aeolus (`APNet` 2018) gives the percentage of flows up to 100 KB, up to 1 MB, and above. Three of the
    /// built-in tables agree with it to a percentage point. Web search does not; the paper's percentages for it add up
    /// to 90. Columns: built-in tables, paper.
    #[test]
    fn shares_agree_with_table_2_of_aeolus_except_for_web_search() {
        for (name, ours, paper) in [
            ("web-server", [80.9, 19.1, 0.0], [81.0, 19.0, 0.0]),
            ("cache-follower", [52.0, 18.0, 30.0], [53.0, 18.0, 29.0]),
            ("data-mining", [82.2, 9.0, 8.8], [83.0, 8.0, 9.0]),
            ("web-search", [54.2, 15.8, 30.0], [52.0, 18.0, 20.0]),
        ] {
            let sizes = table(name);
            let (small, medium) = (sizes.fraction_up_to(100_000), sizes.fraction_up_to(1_000_000));
            let shares = [small, medium - small, 1.0 - medium].map(|share| share * 100.0);
            for ((share, ours), paper) in shares.into_iter().zip(ours).zip(paper) {
                assert!((share - ours).abs() <= 0.06, "{name}: {shares:?}");
                let agrees = (share - paper).abs() <= 1.05;
                assert_eq!(agrees, name != "web-search", "{name}: {share} {paper}");
            }
        }
    }
}
