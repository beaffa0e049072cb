# Names for the commands that everybody uses; the commands themselves stand elsewhere.

# Everything that must hold before a change lands.
test:
    bash tests/run.sh

# What is quick enough to run after every edit.
check:
    cargo clippy --workspace --all-targets -- -D warnings

# One end-to-end case, or those whose name holds the text.
case name:
    cargo test --test e2e {{name}}

format:
    cargo fmt --all
