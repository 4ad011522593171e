//! Where nodes are, and how far from each other: the great circle on a sphere with the Earth's mean radius, 6,371 km.

use super::facts::number;
use super::{Element, Wrong};

const EARTH_KM: f64 = 6_371.0;

pub(super) type Coordinates = Option<(f64, f64)>;

/// Latitude and longitude of a node in degrees, if both are written.
pub(super) fn coordinates(element: &Element) -> Result<Coordinates, Wrong> {
    let latitude = element.get(&["latitude", "lat"]);
    let longitude = element.get(&["longitude", "lon", "lng", "long"]);
    let (Some(latitude), Some(longitude)) = (latitude, longitude) else { return Ok(None) };
    let degrees = |found: (&str, &str), most: f64| {
        let degrees = number(found, element.line)?;
        if degrees.abs() > most {
            let message = format!("`{}` is {degrees} degrees", found.0);
            let help = format!("allowed: from -{most} to {most}");
            return Err(Wrong::new(element.line, message, help));
        }
        Ok(degrees)
    };
    Ok(Some((degrees(latitude, 90.0)?, degrees(longitude, 180.0)?)))
}

/// The great-circle distance in kilometres, by the haversine formula.
pub(super) fn great_circle_km(from: (f64, f64), to: (f64, f64)) -> f64 {
    let [from, to] = [from, to].map(|(lat, lon)| (lat.to_radians(), lon.to_radians()));
    let half = |a: f64, b: f64| {
        let sine = libm::sin((b - a) / 2.0);
        sine * sine
    };
    let across = libm::cos(from.0) * libm::cos(to.0) * half(from.1, to.1);
    let square = (half(from.0, to.0) + across).clamp(0.0, 1.0);
    2.0 * EARTH_KM * libm::asin(libm::sqrt(square))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn great_circles_are_as_long_as_they_are() {
        let quarter = std::f64::consts::FRAC_PI_2 * EARTH_KM;
        assert!((great_circle_km((0.0, 0.0), (0.0, 90.0)) - quarter).abs() < 1e-6);
        assert!((great_circle_km((90.0, 12.0), (-90.0, 99.0)) - 2.0 * quarter).abs() < 1e-6);
        let new_york_to_los_angeles = great_circle_km((40.71, -74.01), (34.05, -118.24));
        assert!((new_york_to_los_angeles - 3_936.0).abs() < 5.0, "{new_york_to_los_angeles}");
    }
}
