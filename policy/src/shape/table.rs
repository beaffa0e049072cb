//! Version 1 of the policy language, key by key.

use super::{Key, Need, Shape};

const TEXTS: Shape = Shape::List(&Shape::Text);
const WORDS: Shape = Shape::List(&Shape::Word);
const ENTRIES: Shape = Shape::List(&ENTRY);
const GROUPS: Shape = Shape::List(&Shape::Map(GROUP));
/// `pass` is no choice here: Moat always has an opinion about a connection.
const NET_EFFECTS: Shape = Shape::Choice(&["allow", "ask", "deny"]);
const HOOK_EFFECTS: Shape = Shape::Choice(&["allow", "pass", "ask", "deny"]);

const fn required(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key {
        name,
        about,
        shape,
        need: Need::Required,
    }
}

const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key {
        name,
        about,
        shape,
        need: Need::Optional,
    }
}

const fn later(name: &'static str, about: &'static str) -> Key {
    Key {
        name,
        about,
        shape: Shape::Anything,
        need: Need::Later,
    }
}

/// The whole file.
pub(crate) static DOCUMENT: Shape = Shape::Map(&[
    required(
        "version",
        Shape::Number,
        "the version of the policy language: 1",
    ),
    optional(
        "defaults",
        Shape::Map(DEFAULTS),
        "what happens where no group matches",
    ),
    optional(
        "exclusive",
        Shape::Flag,
        "in the machine's file: its own allow groups are the only ones",
    ),
    optional("allow", GROUPS, "groups that let through"),
    optional("deny", GROUPS, "groups that refuse, whatever else allows"),
    optional("ask", GROUPS, "groups that leave the decision to a person"),
    optional(
        "sandbox",
        Shape::Map(SANDBOX),
        "what a sandboxed command may touch",
    ),
    later("secrets", "credentials that the proxy adds"),
    later("roles", "policies of single clients"),
    later("budget", "limits of requests and bytes"),
    optional(
        "tests",
        Shape::List(&Shape::Map(CASE)),
        "requests with the effect that each must have",
    ),
]);

const DEFAULTS: &[Key] = &[
    optional("net", NET_EFFECTS, "any connection; `deny` when unset"),
    optional(
        "fetch",
        NET_EFFECTS,
        "an agent's read-only fetch tool; `ask` when unset",
    ),
    optional("fs.read", HOOK_EFFECTS, "reading files"),
    optional("fs.write", HOOK_EFFECTS, "writing files"),
    optional("shell", HOOK_EFFECTS, "shell commands"),
    optional("env.read", HOOK_EFFECTS, "reading environment variables"),
    optional("env.set", HOOK_EFFECTS, "setting environment variables"),
    optional("mcp", HOOK_EFFECTS, "tools of MCP servers"),
    optional(
        "*",
        HOOK_EFFECTS,
        "every kind but `net` and `fetch`; `pass` when unset",
    ),
];

const GROUP: &[Key] = &[
    required("id", Shape::Word, "a name that is unique in its file"),
    optional(
        "reason",
        Shape::Text,
        "why the group is there; shown in refusals",
    ),
    optional("net", ENTRIES, "hosts and addresses of any connection"),
    optional(
        "fetch",
        ENTRIES,
        "hosts and addresses of an agent's fetch tool alone",
    ),
    optional("fs.read", WORDS, "paths that may be read"),
    optional("fs.write", WORDS, "paths that may be written"),
    optional("shell", WORDS, "command lines"),
    optional("env.read", WORDS, "environment variables that may be read"),
    optional("env.set", WORDS, "environment variables that may be set"),
    optional("mcp", WORDS, "tools of MCP servers"),
];

/// `npm.test:443` as a text, or a mapping.
const ENTRY: Shape = Shape::Either(
    &Shape::Word,
    &Shape::Map(&[
        optional("preset", Shape::Word, "the name of a list that Moat knows"),
        optional(
            "host",
            Shape::Word,
            "a name or a pattern of names, without ports",
        ),
        optional(
            "cidr",
            Shape::Word,
            "an address or a range of addresses, without ports",
        ),
        optional(
            "ports",
            Shape::Either(&Shape::Text, &TEXTS),
            "ports and ranges of ports; left out: 80 and 443 in `allow`, else every port",
        ),
        optional(
            "methods",
            TEXTS,
            "HTTP methods, judged where they are visible",
        ),
        optional(
            "paths",
            TEXTS,
            "globs of URL paths, judged where they are visible",
        ),
        later("binaries", "the programs that may connect"),
        optional(
            "tls",
            Shape::Choice(&["require", "any", "terminate"]),
            "whether a tunnel must speak TLS",
        ),
        optional(
            "sni",
            Shape::Choice(&["match", "any"]),
            "whether the TLS server name must be the permitted host",
        ),
        optional(
            "until",
            Shape::Text,
            "when the entry ends, as 2026-12-31T00:00:00Z",
        ),
    ]),
);

const SANDBOX: &[Key] = &[
    optional("read", WORDS, "paths that the command may read"),
    optional("write", WORDS, "paths that the command may write"),
    optional("env", WORDS, "environment variables that reach the command"),
    optional("unix_sockets", WORDS, "Unix sockets that stay reachable"),
    optional("credentials", WORDS, "credential files that stay readable"),
    optional("limits", Shape::Map(LIMITS), "what the command may use up"),
    optional(
        "lifetime",
        Shape::Word,
        "how long the command may run, as 2h",
    ),
    optional(
        "require",
        Shape::Choice(&["namespace", "isolate", "landlock"]),
        "the weakest tier that will do",
    ),
];

const LIMITS: &[Key] = &[
    optional("memory", Shape::Text, "bytes of memory, as 2GiB"),
    optional("processes", Shape::Number, "processes at a time"),
    optional("open_files", Shape::Number, "open files of one process"),
];

const CASE: &[Key] = &[
    required(
        "request",
        Shape::Word,
        "a URL, or a host with or without a port",
    ),
    required(
        "expect",
        Shape::Choice(&["allow", "deny", "ask"]),
        "the effect that the request must have",
    ),
    optional("kind", Shape::Choice(&["net", "fetch"]), "`net` when unset"),
    optional(
        "method",
        Shape::Text,
        "the HTTP method of a plain HTTP request",
    ),
];
