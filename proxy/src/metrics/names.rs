//! Every metric: its name, its kind and what it means. `docs/operations.md` has them all too,
//! and a test holds the two together.

/// One metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    /// As it is scraped.
    pub(crate) text: &'static str,
    /// Its labels, in the order of the alphabet.
    pub(crate) labels: &'static [&'static str],
    /// What it means.
    pub(crate) help: &'static str,
}

macro_rules! names {
    ($($constant:ident = $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(crate) const $constant: Name =
            Name { text: $name, labels: &[$($label),*], help: $help };)*
        /// All of them.
        pub(crate) const ALL: &[Name] = &[$($constant),*];
    };
}

names! {
    ACCEPTED = "moat_accepted_total" ["listener"] "Client connections accepted.";
    ACCEPT_ERRORS = "moat_accept_errors_total" [] "Failures to accept a client, mostly for want of file descriptors.";
    AUDIT_FAILING = "moat_audit_failing" [] "1 while the record cannot be written.";
    BUILD_INFO = "moat_build_info" ["version"] "1, with the version as a label.";
    BYTES = "moat_bytes_total" ["direction"] "Bytes carried in tunnels and bodies: up to upstreams, down to clients.";
    CONNECTIONS = "moat_connections_total" ["effect", "protocol"] "Decisions, by protocol and by what the policy said. A tunnel that is refused after it was allowed, for its server name, counts as both.";
    CONNECTIONS_ACTIVE = "moat_connections_active" [] "Client connections open now.";
    CONNECTIONS_LIMIT = "moat_connections_limit" [] "Client connections that may be open at a time.";
    CONNECTIONS_REJECTED = "moat_connections_rejected_total" [] "Clients turned away because the limit was reached.";
    DECISION = "moat_decision_seconds" [] "How long the policy took to answer.";
    DIAL = "moat_dial_seconds" [] "How long a dial took, over all addresses, connected or not.";
    DNS = "moat_dns_seconds" [] "How long a query for a name took, answered or not.";
    DNS_LOOKUPS = "moat_dns_lookups_total" ["result"] "Names looked up for allowed requests: in the cache or the hosts file (hit), in a query that ran already (joined), in a query of their own (miss).";
    ESTABLISHED = "moat_established_seconds" [] "From the complete head of an allowed request to the answer that its tunnel is open, or to the head of its upstream's answer.";
    FAILURES = "moat_upstream_failures_total" ["cause"] "Allowed requests that failed on the way to their upstream or back.";
    FDS_LIMIT = "moat_file_descriptors_limit" [] "File descriptors that the process may have open.";
    FDS_OPEN = "moat_file_descriptors_open" [] "File descriptors that the process has open.";
    HANDSHAKE_ERRORS = "moat_tls_handshake_errors_total" [] "TLS handshakes with clients that failed or took too long.";
    HOST_BYTES = "moat_host_bytes_total" ["direction", "host"] "Bytes carried, for the first hosts that a rule allowed and for all others together.";
    HOST_REQUESTS = "moat_host_requests_total" ["host"] "Allowed requests that ended, for the first hosts that a rule allowed and for all others together.";
    PANICS = "moat_panics_total" [] "Connections that ended by a fault in the proxy.";
    POLICY_FAILURES = "moat_policy_reload_failures_total" [] "Reloads that failed; the policy before stayed in force.";
    POLICY_GENERATION = "moat_policy_generation" [] "How many different policies were in force up to now.";
    POLICY_INFO = "moat_policy_info" ["digest"] "1, with the digest of the policy in force as a label.";
    POLICY_LOADED = "moat_policy_last_reload_timestamp_seconds" [] "When the policy was last loaded without an error.";
    POOL_IDLE = "moat_pool_idle_connections" [] "Upstream connections kept open for the next request.";
    POOL_REUSED = "moat_pool_reused_total" [] "Forwarded requests that used a connection which was open already.";
    RECORDS_LOST = "moat_records_lost_total" [] "Records that were never written, because their queue was full.";
    RECORDS_QUEUED = "moat_records_queue_length" [] "Records that wait to be written.";
    RECORDS_WRITTEN = "moat_records_written_total" [] "Records written.";
    REFUSED = "moat_refused_total" ["cause"] "Requests refused, by cause.";
    START_TIME = "moat_start_time_seconds" [] "When the proxy started.";
    TUNNELS_ACTIVE = "moat_tunnels_active" [] "Tunnels open now.";
    UNENFORCED = "moat_unenforced" [] "1 when the proxy only observes, and lets through what the policy refuses by default.";
    UNENFORCED_REQUESTS = "moat_unenforced_total" [] "Requests let through that the policy refuses, because the proxy only observes.";
    WORKERS = "moat_workers" [] "Worker threads.";
}
