#!/usr/bin/env bash
# Everything that must hold before a change lands; the README names this command.
# For a fresh Debian 12 with a Rust toolchain, as root or with sudo; running it again does no harm.
# What cannot be installed is printed, and the cases that need it are skipped with their reason.
set -u
cd "$(dirname "$0")/.." || exit 1

target="${CARGO_TARGET_DIR:-$PWD/target}"
tools="$target/tools"     # client libraries of the tests, never the system's
logs="$target/test-logs"
mkdir -p "$tools" "$logs"
export MOAT_TEST_TOOLS="$tools"
export MOAT_TEST_SKIPS="$logs/skipped.txt"
export CI="${CI:-1}"      # snapshots are compared, not written
: > "$MOAT_TEST_SKIPS"

say() { printf '\n== %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# program:package, for what is looked for on the search path
wanted="cc:build-essential ip:iproute2 unshare:util-linux kill:procps curl:curl wget:wget git:git
ssh:openssh-client sshd:openssh-server openssl:openssl nc:netcat-openbsd python3:python3 node:nodejs npm:npm
zsh:zsh fish:fish"

install_packages() {
  local missing=() pair
  for pair in $wanted; do
    # `type -P` looks for a file: a shell's own `kill` is of no use to a test.
    PATH="$PATH:/usr/sbin:/sbin" type -P "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
  python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  [ "${#missing[@]}" = 0 ] && return 0
  say "installing ${missing[*]}"
  if ! as_root true 2>/dev/null; then
    echo "neither root nor sudo: not installed: ${missing[*]}"
    return 0
  fi
  as_root timeout 300 apt-get update -qq || echo "apt-get update failed"
  as_root env DEBIAN_FRONTEND=noninteractive timeout 600 \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$logs/apt.log" 2>&1 ||
    { echo "not installed: ${missing[*]}"; tail -n 3 "$logs/apt.log"; }
}

install_libraries() {
  if ! "$tools/venv/bin/python" -c 'import requests, websockets, yaml' 2>/dev/null; then
    say "installing Python libraries"
    { python3 -m venv "$tools/venv" &&
      timeout 300 "$tools/venv/bin/pip" install -q requests websockets pyyaml; } >"$logs/pip.log" 2>&1 ||
      { echo "not installed: requests, websockets, pyyaml"; tail -n 3 "$logs/pip.log"; }
  fi
  if [ ! -d "$tools/node/node_modules/undici" ]; then
    say "installing Node libraries"
    mkdir -p "$tools/node"
    timeout 300 npm install --prefix "$tools/node" --no-audit --no-fund --silent undici@6 \
      >"$logs/npm.log" 2>&1 ||
      { echo "not installed: undici"; tail -n 3 "$logs/npm.log"; }
  fi
}

failed=()
# stage NAME SECONDS COMMAND...: runs it, shows the end of what it said when it fails
stage() {
  local name="$1" limit="$2" begin=$SECONDS
  shift 2
  say "$name"
  if timeout "$limit" "$@" >"$logs/$name.log" 2>&1; then
    echo "ok after $((SECONDS - begin)) s"
  else
    echo "FAILED after $((SECONDS - begin)) s (whole log: $logs/$name.log)"
    tail -n 150 "$logs/$name.log"
    failed+=("$name")
  fi
}

install_packages
install_libraries

stage fmt 60 cargo fmt --all --check
stage clippy 900 cargo clippy --workspace --all-targets --locked -- -D warnings
if grep -q 'does not refer to a reachable function' "$logs/clippy.log"; then
  grep -B1 -A3 'does not refer to a reachable function' "$logs/clippy.log"
  failed+=(clippy-configuration)
fi
stage doc 600 env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
if command -v cargo-deny >/dev/null; then
  stage deny 120 cargo deny --offline check bans licenses sources
fi
stage build 900 cargo test --workspace --locked --no-run
if command -v cargo-nextest >/dev/null; then
  stage test 900 cargo nextest run --workspace --locked --no-fail-fast
  stage doctest 300 cargo test --workspace --locked --doc
else
  stage test 900 cargo test --workspace --locked --no-fail-fast
fi

say "the test runner's closing lines"
grep -E '^ *Summary|^test result:' "$logs/test.log" | tail -n 20
count=$(sort -u "$MOAT_TEST_SKIPS" | grep -c .)
say "$count skipped"
sort -u "$MOAT_TEST_SKIPS"

if [ "${#failed[@]}" != 0 ]; then
  say "FAILED: ${failed[*]}"
  exit 1
fi
say "all passed"
