//! The JSON Schema of a policy file, for editors that check YAML while it is written.
//!
//! It is made from the table that the loader checks files with, so that the two cannot drift
//! apart. It knows the shape of a file and nothing of what its values mean.

use serde_json::{Map, Value, json};

use crate::entry::MAX_ENTRY_BYTES;
use crate::parse::VERSION;
use crate::shape::{DOCUMENT, Key, Need, Shape};

/// The schema (JSON Schema, draft 2020-12).
pub fn schema() -> Value {
    let mut schema = value(&DOCUMENT);
    if let Value::Object(root) = &mut schema {
        root.insert(
            "$schema".into(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        root.insert("title".into(), json!("Moat policy"));
        let version = json!({ "const": VERSION.parse::<u32>().unwrap_or(1) });
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            let about = properties
                .get("version")
                .and_then(|version| version.get("description"))
                .cloned();
            properties.insert("version".into(), described(version, about));
        }
    }
    schema
}

fn described(mut schema: Value, about: Option<Value>) -> Value {
    if let (Value::Object(object), Some(about)) = (&mut schema, about) {
        object.insert("description".into(), about);
    }
    schema
}

fn value(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Word => json!({ "type": "string", "minLength": 1 }),
        Shape::Number => json!({ "type": "integer", "minimum": 0 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Choice(words) => json!({ "enum": words }),
        Shape::List(item) => json!({ "type": "array", "items": value(item) }),
        Shape::Map(keys) => mapping(keys),
        Shape::Either(single, many) => json!({ "anyOf": [single_value(single), value(many)] }),
        Shape::Anything => json!(true),
    }
}

/// The single value of an entry is as long as an entry may be.
fn single_value(shape: &Shape) -> Value {
    let mut schema = value(shape);
    if let (Shape::Word, Value::Object(object)) = (shape, &mut schema) {
        object.insert("maxLength".into(), json!(MAX_ENTRY_BYTES));
    }
    schema
}

/// Keys that come later are left out: an editor should not offer what the loader refuses.
fn mapping(keys: &[Key]) -> Value {
    let known = keys.iter().filter(|key| key.need != Need::Later);
    let properties: Map<String, Value> = known
        .clone()
        .map(|key| {
            let about = Some(json!(key.about));
            (key.name.to_owned(), described(value(&key.shape), about))
        })
        .collect();
    let required: Vec<&str> = known
        .filter(|key| key.need == Need::Required)
        .map(|key| key.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if let (false, Value::Object(object)) = (required.is_empty(), &mut schema) {
        object.insert("required".into(), json!(required));
    }
    schema
}

#[cfg(test)]
mod tests;
