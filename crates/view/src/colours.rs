//! The colour of each scheme, the same in every figure, page and language: a function of its name alone.
//!
//! One set of colours serves light and dark grounds: each has a contrast of at least 3:1 with white and with the dark
//! ground of pages (WCAG 2.2, 1.4.11), so that drawings can be saved and pasted anywhere. On dark pages it is replaced
//! by a brighter one of a like hue, of at least 4.5:1, so that thin lines are seen. The first eight stay apart for
//! readers who do not see red or green (simulated as Machado, Oliveira and Fernandes 2009 describe, distances
//! in Oklab); tests hold all of this. Dashes, shapes and names beside marks tell schemes apart without colour.

/// The colours of schemes. The first eight are for the transports that are most often compared.
pub const PALETTE: [&str; 16] = [
    "#3496EF", "#F9601F", "#794DB6", "#445BFE", "#AE6AA8", "#4A6B64", "#9C9277", "#B13E06", "#C2206A", "#83963A",
    "#7071DD", "#955290", "#105FD9", "#AB6E64", "#21763C", "#CE70C7",
];
/// The palette of dark pages: the colour at each index replaces the one of [`PALETTE`], with more contrast.
const ON_DARK: [&str; 16] = [
    "#4EB2FD", "#FF7C07", "#956FBB", "#5A8AFF", "#B58EB2", "#528B6D", "#BCAC88", "#CE5F0E", "#E731BC", "#809F5D",
    "#7275DC", "#A66D98", "#197AFF", "#B07E90", "#3D9042", "#CD79D8",
];
/// The background colours of figures: of light and printed pages, and of dark pages.
pub const GROUNDS: [&str; 2] = ["#FFFFFF", "#12161B"];
/// The colour of legends' shapes that stand for no colour.
pub const GREY: &str = "#808080";

/// CSS rules that replace each colour of [`PALETTE`] by its counterpart in [`ON_DARK`] on dark pages.
pub(crate) fn dark_rules() -> String {
    let numbered = |part: fn((usize, (&str, &str))) -> String| -> String {
        PALETTE.into_iter().zip(ON_DARK).enumerate().map(part).collect()
    };
    let names = numbered(|(at, (_, dark))| format!("--c{at}:{dark};"));
    let uses = numbered(|(at, (light, _))| {
        ["fill", "stroke"].map(|what| format!(".plot [{what}=\"{light}\"]{{{what}:var(--c{at},{light})}}\n")).concat()
    });
    format!(
        "@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme=\"light\"]) {{{names}}} }}\n\
         @media screen {{ :root[data-theme=\"dark\"] {{{names}}}\n{uses}}}\n"
    )
}

/// Names of schemes with a fixed place in [`PALETTE`]: transports under their usual names, and two variants whose hash
/// would give them the colour of a scheme beside them.
const KNOWN: [(&str, usize); 23] = [
    ("cubic", 0),
    ("flashpass", 1),
    ("expresspass", 2),
    ("dctcp", 3),
    ("gemini", 4),
    ("bbr", 5),
    ("vegas", 6),
    ("flashpass-mimd", 7),
    ("flashpass-paper", 12),
    ("flashpass-aeolus", 8),
    ("copa", 9),
    ("prague", 10),
    ("expresspass-ideal", 10),
    ("expresspass-paper", 11),
    ("ecn-star", 12),
    ("ecn*", 12),
    ("udp", 13),
    ("flashpass-mimd-aeolus", 13),
    ("flashpass-paper-aeolus", 15),
    ("newreno", 14),
    ("expresspass-aeolus", 15),
    ("cubic-ecn", 8),
    ("flashpass-batch6", 13),
];

/// The colour of a scheme, as `#RRGGBB`. If the name is not a transport, a hash of its letters selects the colour, so
/// that it is equal on all pages.
pub fn colour(name: &str) -> &'static str {
    known(name).unwrap_or_else(|| PALETTE[(hash(name) % PALETTE.len() as u64) as usize])
}

/// Colours for a list of names that need not be schemes, such as groups and flows. A transport has its fixed colour;
/// each other name has the first colour that is free.
pub fn in_order(names: &[String]) -> Vec<&'static str> {
    let taken: Vec<&str> = names.iter().filter_map(|name| known(name)).collect();
    let mut free = PALETTE.into_iter().filter(|colour| !taken.contains(colour)).cycle();
    names.iter().map(|name| known(name).or_else(|| free.next()).unwrap_or(PALETTE[0])).collect()
}

fn known(name: &str) -> Option<&'static str> {
    let found = KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, place)| PALETTE[*place])
}

/// FNV-1a with 64 bits (Fowler, Noll, Vo; RFC 9923). The upper half is folded into the lower.
fn hash(text: &str) -> u64 {
    let fnv = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    fnv ^ (fnv >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Colour = [f64; 3];

    /// Converts a colour, written as `#RRGGBB`, to linear red, green and blue.
    fn linear(hex: &str) -> Colour {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
        };
        [channel(1), channel(3), channel(5)]
    }

    fn times(matrix: &[Colour; 3], colour: Colour) -> Colour {
        std::array::from_fn(|row| (0..3).map(|at| matrix[row][at] * colour[at]).sum())
    }

    /// The contrast ratio of two colours as WCAG defines it, 1 to 21.
    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |hex: &str| {
            let [red, green, blue] = linear(hex);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    /// Converts a colour from linear red, green and blue to Oklab (Ottosson 2020).
    fn oklab(colour: Colour) -> Colour {
        let cones = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        let lab = [
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ];
        times(&lab, times(&cones, colour.map(|value| value.clamp(0.0, 1.0))).map(libm::cbrt))
    }

    /// How readers see colours: with all cones, without red cones, without green ones (Machado et al. 2009, severity
    /// 1).
    const SIGHTS: [[Colour; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    ];

    /// The least distance between two of these colours, for any of [`SIGHTS`], in hundredths of Oklab.
    fn least_distance(colours: &[&str]) -> f64 {
        let mut least = f64::INFINITY;
        for sight in &SIGHTS {
            let seen: Vec<Colour> = colours.iter().map(|hex| oklab(times(sight, linear(hex)))).collect();
            for (place, one) in seen.iter().enumerate() {
                for other in &seen[..place] {
                    let squares: f64 = (0..3).map(|at| (one[at] - other[at]) * (one[at] - other[at])).sum();
                    least = least.min(100.0 * squares.sqrt());
                }
            }
        }
        least
    }

    #[test]
    fn every_colour_is_seen_on_light_and_dark_ground() {
        for colour in PALETTE.into_iter().chain([GREY]) {
            for ground in GROUNDS {
                let ratio = contrast(colour, ground);
                assert!(ratio >= 3.0, "{colour} on {ground}: {ratio:.2}");
            }
        }
        let least = ON_DARK.map(|colour| contrast(colour, GROUNDS[1])).into_iter().fold(f64::INFINITY, f64::min);
        assert!(least >= 4.5, "{least:.2}");
        assert!((contrast("#000000", "#FFFFFF") - 21.0).abs() < 1e-9);
    }

    #[test]
    fn colours_stay_apart_for_readers_who_do_not_see_red_or_green() {
        for palette in [PALETTE, ON_DARK] {
            assert!(least_distance(&palette[..8]) > 10.0, "{}", least_distance(&palette[..8]));
            assert!(least_distance(&palette) > 5.0, "{}", least_distance(&palette));
        }
        // Okabe and Ito's blue and violet of the same lightness would be one colour.
        assert!(least_distance(&["#0072B2", "#7A4FBF"]) < 5.0);
    }

    #[test]
    fn a_name_has_one_colour_everywhere() {
        assert_eq!([colour("cubic"), colour("CUBIC")], ["#3496EF"; 2]);
        assert_eq!(colour("flashpass"), "#F9601F");
        // The colours of names of users are a promise too: those of their other pages.
        assert_eq!([colour("mine"), colour("vegas-10"), colour("")], ["#AE6AA8", "#B13E06", "#F9601F"]);
        let places: Vec<usize> = KNOWN.iter().map(|(_, place)| *place).collect();
        assert!(places.iter().all(|place| *place < PALETTE.len()));
    }

    #[test]
    fn names_in_order_have_different_colours() {
        let names: Vec<String> = ["web", "flashpass", "bulk"].map(str::to_owned).to_vec();
        assert_eq!(in_order(&names), ["#3496EF", "#F9601F", "#794DB6"]);
    }
}
