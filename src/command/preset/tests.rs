use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;

use super::*;

/// A sink that can be read afterwards.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(write: impl FnOnce(&mut Output) -> Result<Exit, Problem>) -> String {
    let sink = Sink::default();
    let mut output = Output::to(sink.clone());
    assert_eq!(write(&mut output).unwrap(), Exit::Ok);
    output.finish().unwrap();
    String::from_utf8(sink.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn the_list_has_a_line_for_every_preset_and_part() {
    let text = written(|output| list(output, false));
    assert_eq!(text.lines().count(), 1 + preset::all_names().unwrap().len());
    let line = |name: &str| {
        let mut lines = text.lines();
        lines
            .find(|line| line.split_whitespace().next() == Some(name))
            .unwrap()
            .to_owned()
    };
    assert_snapshot!(line("name"), @"name                  hosts  writable  checked     what it is");
    assert_snapshot!(line("nuget/tenant"), @"nuget/tenant              1         0  2026-11-30  NuGet packages: package blobs; other tenants of the service share the suffix");
}

#[test]
fn the_list_as_json_has_counts() {
    let text = written(|output| list(output, true));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let row = rows.iter().find(|row| row["name"] == "docs").unwrap();
    assert_snapshot!(row, @r#"{"hosts":7,"name":"docs","purpose":"allow","summary":"Reference documentation","version":"2026-11-30","writable":0}"#);
}

#[test]
fn a_preset_is_shown_with_what_it_includes() {
    let preset = find("uv").unwrap();
    let text = written(|output| show(output, &preset, false));
    let last: Vec<&str> = text.lines().rev().take(3).collect();
    assert_snapshot!(last.join("\n"), @r"
    release-assets.githubusercontent.com  shared-path   read    github-releases
    objects.githubusercontent.com         shared-path   read    github-releases
    github.com                            shared-path   write   github-releases
    ");
    let json = written(|output| show(output, &find("nuget/tenant").unwrap(), true));
    assert_snapshot!(json, @r#"{"name":"nuget/tenant","summary":"NuGet packages","version":"2026-11-30","purpose":"allow","sources":["dependabot/proxy"],"notes":["wildcards over storage accounts are left out: anyone can create a matching account"],"includes":[],"parts":["nuget","nuget/tenant"],"entries":[{"host":"*.vsblob.vsassets.io","class":"tenant-label","access":"read","why":"package blobs; other tenants of the service share the suffix","preset":"nuget/tenant"}]}"#);
}

#[test]
fn an_explanation_says_why_each_host_is_there() {
    let text = written(|output| explain::preset(output, &find("anthropic").unwrap(), false));
    assert_snapshot!(text, @r"
    anthropic: Anthropic: the model API and login
    last checked 2026-11-30, against Claude Code network page, github/gh-aw

    the model; prompts carry data out:
      api.anthropic.com  (provider, write)

    login:
      claude.ai  (provider, write)
      platform.claude.com  (provider, write)

    other parts:
      anthropic/telemetry
    ");
}

#[test]
fn an_unknown_preset_is_a_usage_error_with_the_nearest_name() {
    let problem = find("dokcerhub").unwrap_err();
    assert_eq!(problem.exit(), Exit::Usage);
    assert_snapshot!(problem.plain(), @r"
    error: no preset is called `dokcerhub`
    hint: did you mean `dockerhub`?
    ");
}

#[test]
fn a_host_is_looked_up_by_the_matcher_itself() {
    let text = written(|output| explain::host(output, "eu-aiplatform.googleapis.com", false));
    assert_snapshot!(text, @r"
    preset     host                         whose         access  why
    default    *-aiplatform.googleapis.com  provider      write   the same, by region
    google-ai  *-aiplatform.googleapis.com  provider      write   the same, by region
    ");
    let text = written(|output| explain::host(output, "X.vsblob.vsassets.io", true));
    assert_snapshot!(text, @r#"[{"preset":"nuget/tenant","host":"*.vsblob.vsassets.io","class":"tenant-label","access":"read","why":"package blobs; other tenants of the service share the suffix"}]"#);
    let text = written(|output| explain::host(output, "nobody.test", false));
    assert_snapshot!(text, @"no preset holds `nobody.test`");
    let mut output = Output::to(Sink::default());
    assert_eq!(
        explain::host(&mut output, "a..b", false)
            .unwrap_err()
            .exit(),
        Exit::Usage
    );
}
