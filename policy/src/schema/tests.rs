use super::*;

/// A validator of the part of JSON Schema that the schema uses.
fn fits(schema: &Value, value: &Value) -> bool {
    let Value::Object(rules) = schema else {
        return schema == &Value::Bool(true);
    };
    rules.iter().all(|(rule, wanted)| match rule.as_str() {
        "$schema" | "title" | "description" => true,
        "type" => wanted.as_array().map_or_else(
            || is_kind(wanted, value),
            |kinds| kinds.iter().any(|kind| is_kind(kind, value)),
        ),
        "const" => wanted == value,
        "enum" => wanted.as_array().unwrap().contains(value),
        "anyOf" => wanted
            .as_array()
            .unwrap()
            .iter()
            .any(|one| fits(one, value)),
        "minimum" => value
            .as_i64()
            .is_none_or(|number| number >= wanted.as_i64().unwrap()),
        "minLength" => value.as_str().is_none_or(|text| !text.is_empty()),
        "maxLength" => {
            let most = usize::try_from(wanted.as_u64().unwrap()).unwrap();
            value
                .as_str()
                .is_none_or(|text| text.chars().count() <= most)
        }
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| fits(wanted, item))),
        "required" => value.as_object().is_none_or(|object| {
            let keys = wanted.as_array().unwrap();
            keys.iter()
                .all(|key| object.contains_key(key.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|object| {
            object
                .iter()
                .all(|(key, value)| wanted.get(key).is_none_or(|one| fits(one, value)))
        }),
        "additionalProperties" => {
            assert_eq!(wanted, &Value::Bool(false));
            let known = &rules["properties"];
            value
                .as_object()
                .is_none_or(|object| object.keys().all(|key| known.get(key).is_some()))
        }
        other => panic!("the validator does not know `{other}`"),
    })
}

fn is_kind(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("no kind `{other}`"),
    }
}

fn fits_text(text: &str) -> bool {
    fits(&schema(), &serde_yaml::from_str(text).unwrap())
}

#[test]
fn what_the_loader_takes_fits_the_schema() {
    let texts = [
        crate::compile::BUILT_IN,
        "version: 1",
        "version: 1\nallow: []\ndefaults: { net: ask, \"*\": pass }\nexclusive: true",
        "version: 1\nallow: [{id: a, reason: 5, net: [a.test, {host: b.test, ports: 443, methods: [GET]}]}]",
        "version: 1\ndeny: [{id: a, net: [{cidr: 10.0.0.0/8, ports: [22, \"1-2\"], until: 2026-12-31T00:00:00Z}]}]",
        "version: 1\nsandbox: {read: [/usr], limits: {memory: 2GiB, processes: 10}, lifetime: 2h, require: isolate}",
        "version: 1\ntests: [{request: a.test, expect: deny, kind: fetch}]",
    ];
    for text in texts {
        let source = crate::source::SourceFile::new("p.yaml", text);
        crate::parse::parse(&source).unwrap();
        assert!(fits_text(text), "{text}");
    }
}

#[test]
fn what_the_loader_refuses_by_shape_does_not_fit() {
    let texts = [
        "allow: []",
        "version: 2",
        "version: 1\nallow:",
        "version: 1\nallow: {}",
        "version: 1\nalow: []",
        "version: 1\nsecrets: []",
        "version: 1\ndefaults: { net: pass }",
        "version: 1\nallow: [{net: [a.test]}]",
        "version: 1\nallow: [{id: a, net: [1.5]}]",
        "version: 1\nallow: [{id: a, net: [{hots: a.test}]}]",
        "version: 1\ntests: [{request: a.test, expect: pass}]",
    ];
    for text in texts {
        let source = crate::source::SourceFile::new("p.yaml", text);
        crate::parse::parse(&source).unwrap_err();
        assert!(!fits_text(text), "{text}");
    }
}

#[test]
fn the_schema_describes_every_key() {
    let text = serde_json::to_string(&schema()).unwrap();
    let keys = text.matches("\"description\":").count();
    assert!(keys > 40, "{keys}");
}
