//! The JSON Schema of scenarios, for editors, generated from the descriptions of the keys.

use super::defaults::{self, Explained};
use super::{expand::COMMON, root_options::Scenario};
use serde_json::{Map, Value, json};
use shallop_options::{Key, SectionKeys, SectionKind, TaggedSections, ValueType, section_keys};

/// The JSON Schema (draft 2020-12) of scenarios.
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), "A scenario of shallop".into());
    schema.extend(section(&defaults::of_section(section_keys::<Scenario>()), None));
    let mut schema = Value::Object(schema);
    scheme_like_another(&mut schema["properties"]["scheme"]["items"]);
    claims_by_names(&mut schema["properties"]["claim"]["items"]);
    schema
}

/// Allows schemes with `like`, which copies the keys of another scheme; such a scheme may have keys of any transport.
fn scheme_like_another(schemes: &mut Value) {
    let keys = json!({
        "like": {
            "type": "string",
            "minLength": 1,
            "description": "A scheme above this one, whose keys it has, apart from the name and those it says itself.",
        },
        "name": { "type": "string", "minLength": 1, "description": "Its label." },
    });
    let like = json!({ "type": "object", "properties": keys, "required": ["like"] });
    schemes["oneOf"].as_array_mut().into_iter().for_each(|kinds| kinds.push(like.clone()));
}

/// Allows keys of a claim to be tables by names of schemes or points, and requires `scheme` or `schemes`.
fn claims_by_names(claims: &mut Value) {
    for (key, schema) in claims["properties"].as_object_mut().into_iter().flatten() {
        if !COMMON.contains(&key.as_str()) {
            let about = schema["description"].take();
            *schema = json!({ "anyOf": [schema.take(), { "type": "object" }], "description": about });
        }
    }
    claims["oneOf"] = json!([{ "required": ["scheme"] }, { "required": ["schemes"] }]);
}

/// The schema of a section. `kind` is the tag and its value if the section is of one of several kinds.
fn section(keys: &[Explained], kind: Option<(&str, &str)>) -> Map<String, Value> {
    let property = |explained: &Explained| {
        let key = explained.key;
        let mut schema = match kind {
            Some((tag, kind)) if tag == key.name => json!({ "const": kind }),
            _ => form(&key.value_type),
        };
        schema["description"] = explained.about().into();
        if let Some(default) = explained.value() {
            schema["default"] = default;
        }
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = keys.iter().map(property).collect();
    let required = |key: &&'static Key| key.required;
    let required: Vec<&str> = keys.iter().map(|it| it.key).filter(required).map(|key| key.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.into());
    schema.insert("additionalProperties".into(), false.into());
    schema
}

fn alone(keys: SectionKeys) -> Value {
    Value::Object(section(&defaults::of_section(keys), None))
}

fn tagged(tagged: &TaggedSections) -> Value {
    let one = |kind: SectionKind| {
        let keys = defaults::of_kind(kind);
        Value::Object(section(&keys, Some((tagged.tag, kind.name))))
    };
    json!({ "oneOf": (tagged.kinds)().into_iter().map(one).collect::<Vec<_>>() })
}

/// The pattern of a quantity as text: a number and one of `units`, a regular expression.
fn quantity(units: &str) -> String {
    format!("^\\s*[0-9][0-9_]*(\\.[0-9_]*[0-9])?\\s*({units})\\s*$")
}

const TIME: &str = "ps|ns|us|µs|ms|s|min";
const BYTES: &str = "B|KB|KiB|MB|MiB|GB|GiB|TB";
const RATE: &str = "[KMGT]?bps|[kKMGT]?b(it)?/s|[KMGT]|GE|[GT]bE";

fn form(form: &ValueType) -> Value {
    let text = |pattern: String| json!({ "type": "string", "pattern": pattern });
    match form {
        ValueType::Text => json!({ "type": "string", "minLength": 1 }),
        ValueType::Boolean => json!({ "type": "boolean" }),
        ValueType::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ValueType::Number(f64::MIN, f64::MAX) => json!({ "type": "number" }),
        ValueType::Number(low, high) => {
            json!({ "type": "number", "minimum": low, "maximum": high })
        }
        ValueType::Below(low, high) => {
            json!({ "type": "number", "minimum": low, "exclusiveMaximum": high })
        }
        ValueType::Above(low, high) => {
            json!({ "type": "number", "exclusiveMinimum": low, "maximum": high })
        }
        ValueType::Time(..) => text(quantity(TIME)),
        ValueType::TimeRange(..) => text("^.+\\.\\..+$".into()),
        ValueType::Rate(..) => text(quantity(RATE)),
        ValueType::Size(..) => text(quantity(BYTES)),
        ValueType::Buffer => text(quantity(&format!("({BYTES})(\\s*/\\s*Gbps)?|pkts?|packets"))),
        ValueType::OneOf(words) => json!({ "enum": words }),
        ValueType::List(inner) => {
            json!({ "type": "array", "items": self::form(inner), "minItems": 1 })
        }
        ValueType::AnyOf(forms) => {
            json!({ "anyOf": forms.iter().map(self::form).collect::<Vec<_>>() })
        }
        ValueType::Section(keys) => alone(*keys),
        ValueType::Sections(keys) => json!({ "type": "array", "items": alone(*keys) }),
        ValueType::NamedSections(keys) => {
            json!({ "type": "object", "additionalProperties": alone(*keys) })
        }
        ValueType::Tagged(kinds) => tagged(kinds),
        ValueType::TaggedList(kinds) => {
            json!({ "type": "array", "items": tagged(kinds), "minItems": 1 })
        }
        ValueType::Overrides => json!({ "type": "object" }),
    }
}
