//! The stable codes of every problem, with a long explanation each: the table behind
//! `moat why --code`.

macro_rules! codes {
    ($($name:ident = $code:literal: $($line:literal)+;)+) => {
        $(#[doc = concat!($($line, "\n"),+)] pub const $name: &str = $code;)+

        /// Every code with its explanation, in the order of the codes.
        pub const ALL: &[(&str, &str)] = &[$(($code, concat!($($line, "\n"),+))),+];
    };
}

/// What a code means and what to do about it; `None` for a code that does not exist.
pub fn explain(code: &str) -> Option<&'static str> {
    ALL.iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(code))
        .map(|(_, text)| *text)
}

codes! {
    SYNTAX = "P001":
        "The file is not YAML."
        "The place is where the reading stopped; the mistake is often just before it."
        "A text that holds `: `, ` #` or begins with one of `[ ] { } , & * ! | > % @` or a backtick belongs in quotes.";
    QUOTE = "P002":
        "A text must be quoted."
        "YAML reads an unquoted `!name` as a tag and an unquoted `*name` as an alias, so an exclusion or a wildcard needs quotes: \"!name\", \"*.name\".";
    DOCUMENTS = "P003":
        "The file holds more than one document."
        "A policy file is one document, so that nobody overlooks the second one.";
    DUPLICATE_KEY = "P004":
        "A key stands twice in the same mapping."
        "YAML readers disagree about which of the two counts, so neither does.";
    MERGE = "P005":
        "A merge key, `<<`."
        "Merge keys hide what a mapping holds from the reader; write the keys out.";
    KEY = "P006":
        "A key that is a list, a mapping or an alias."
        "Every key of a policy is one plain word.";
    DEPTH = "P007":
        "The nesting is deeper than 32 levels.";
    ALIAS = "P008":
        "An alias cannot be followed."
        "It stands inside what it repeats, or the aliases of the file would stand for more than 200,000 nodes or 16 MiB of text.";
    TOO_LARGE = "P009":
        "The file is too large."
        "A policy file has at most 16 MiB and 200,000 list items; nothing is ever cut off in silence.";
    HIDDEN = "P010":
        "The file holds a character that readers cannot see."
        "Control characters, line breaks that only some YAML versions know, marks without width and marks that turn the direction of the text are refused: a policy is reviewed by eye.";
    EMPTY = "P011":
        "The file is empty."
        "An empty file is more often an accident than a wish; a policy that allows nothing is `version: 1` alone.";
    NOTHING = "P012":
        "A key holds nothing where a value belongs."
        "YAML reads a key without a value as null, and a list of nothing could hide a lost rule; write `[]` for an empty list, or remove the key.";
    KIND = "P013":
        "A value is of another kind than its key holds."
        "For example a single text where a list belongs, or a word that is none of the choices.";
    RETYPED = "P014":
        "A bare word that YAML does not read as a text."
        "Some YAML versions take `on`, `no`, `null`, `1.5` or a date for something else than a text; in quotes all of them agree.";
    UNKNOWN_KEY = "P015":
        "A key that the policy language does not have."
        "A misspelled key would be a rule that silently does nothing, so it is an error.";
    MISSING = "P016":
        "A key that must be there is missing."
        "A file has a `version`, a group an `id`, a test a `request` and an `expect`.";
    VERSION = "P017":
        "The version of the policy language is unknown."
        "This program reads version 1; a file of a later version may mean something that it cannot enforce.";
    LATER = "P018":
        "A part of the policy language that this version does not support yet."
        "`secrets`, `roles`, `budget`, `binaries` and `tls: terminate` are refused rather than ignored: a rule with a part left out would mean something else.";
    READERS = "P019":
        "Two YAML readers understand the file differently."
        "A file is read by a strict reader for the places and by another for the values; where they disagree, people would too. Write the place more plainly, usually with quotes and without tabs.";
    ENTRY = "P020":
        "An entry that cannot be read, or that could never match."
        "An entry is a name, a pattern or an address with optional ports: `docs.example`, `*.docs.example:443`, `10.20.0.0/16:5432`. A mapping has one of `host`, `cidr` and `preset`.";
    DUPLICATE_ID = "P021":
        "Two groups of one file have the same id."
        "Refusals and records name a group by its id, so it must mean one group.";
    ONLY_EXCLUSIONS = "P022":
        "A list holds only exclusions."
        "An exclusion takes something out of its own list; a list of nothing else names nothing. A deny group is the way to refuse a host everywhere.";
    PRESET = "P023":
        "There is no preset of that name."
        "`moat preset list` shows the names.";
    ID = "P024":
        "An id that cannot stand in a header or a command."
        "Use at most 64 letters, digits and `-`, `_`, `.` or `/`.";
    TEXT = "P025":
        "A text that is empty, too long or not one line, or an amount that cannot be read.";
    UNTIL = "P026":
        "The end of an entry cannot be read."
        "Write a time of RFC 3339 with a zone, for example 2026-12-31T00:00:00Z.";
    REQUEST = "P027":
        "The request of a test cannot be read."
        "A request is a host, HOST:PORT, or an http, https, ws or wss URL. Only of an `http:` URL a method is known.";
    EMPTY_GROUP = "P028":
        "A group names nothing."
        "A group has at least one list, such as `net`.";
    HTTP = "P029":
        "Methods or paths that cannot be read, or that could never match.";
    EXCLUSIVE = "P030":
        "`exclusive` stands in a file that is not the machine's."
        "Only the file of the whole machine, /etc/moat/policy.yaml, can make its own allow groups the only ones.";
    PATTERNS = "P031":
        "Too many patterns or entries that would have to be tried for every request."
        "Names are found by their last labels and by what is literal around one `*`. Of the patterns without either, such as `api-*` or `a*b*c.example`, 1,000 are taken."
        "For one host, 1,000 combinations of ports, methods and exclusions are taken, and 1,000 entries whose paths have the same text in front of their first `*`. Entries that differ only in `until` count once, and so do lists that exclude the same.";
    UNTRUSTED_ALLOW = "L001":
        "The allow groups of a project's file do not count, because nobody has trusted the file."
        "A project's file comes with code that nobody may have read, so it can only make things stricter. What you agree with belongs into a policy of your own: `moat allow` writes it there.";
    EXCLUSIVE_ALLOW = "L002":
        "Allow groups do not count, because the machine's policy is exclusive."
        "The machine's file says `exclusive: true`: its own allow groups are the only ones.";
    LOOSE_DEFAULT = "L003":
        "A default is looser than the one that holds."
        "The most trusted file that sets a default decides; others can only tighten it (deny, ask, pass, allow, from strict to loose).";
    ANY_NAME = "L010":
        "An allow entry lets through every name."
        "A bare `*` is any name. Nothing is left of an allowlist then but its denies and the guarded addresses.";
    PUBLIC_SUFFIX = "L011":
        "A wildcard stands directly on a public suffix."
        "Under a suffix such as `com` anybody can register a domain, so the entry lets through what a stranger sets up.";
    STAR_IN_DOMAIN = "L012":
        "A `*` stands for a part of the registrable domain."
        "`*name` without a dot also matches a domain that a stranger registers with that ending. `*.NAME` is everything below the name, `**.NAME` the name too.";
    METADATA = "L013":
        "An entry opens the metadata service of a cloud."
        "It hands out the credentials of the machine to whoever asks.";
    COVERED = "L014":
        "An entry says nothing new."
        "Another entry of the same effect matches all that it matches. Two entries for one thing are one to forget when it is to be closed.";
    DENIED = "L015":
        "An entry can never take effect, because a deny covers it."
        "A deny wins over every allow and ask, in whatever file and order they stand.";
    EXPIRED = "L016":
        "The time of an entry is over."
        "An entry past its `until` matches nothing any more.";
    TENANT = "L017":
        "A wildcard lets through names that anybody can have."
        "On shared platforms every customer gets a name below the same domain, a stranger too. Name the host of the tenant in full.";
    UNSEEN = "L018":
        "An entry asks for methods or paths where only TLS is let through."
        "Methods and paths are seen in plain HTTP alone, and plain HTTP is refused where an entry requires TLS, which on port 443 is the default. The entry never matches.";
}

#[cfg(test)]
mod tests;
