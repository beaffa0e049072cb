use std::io;

use super::*;

/// A sink that fails with one kind of error.
struct Broken(ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_line_stays_one_line_without_control_characters() {
    let text = captured(|output| output.line("a\u{1b}[2Kb\nc\u{9b}d\u{202e}e ü"));
    assert_eq!(text, "a\\u001b[2Kb\\u000ac\\u009bd\\u202ee ü\n");
}

#[test]
fn json_moves_no_cursor_and_keeps_its_meaning() {
    let value = "a\u{1b}[2K\u{9b}31m\u{7f}\u{202e}ü";
    let text = captured(|output| output.json(&value).unwrap());
    assert_eq!(text, "\"a\\u001b[2K\\u009b31m\\u007f\\u202eü\"\n");
    assert_eq!(serde_json::from_str::<String>(&text).unwrap(), value);
}

#[test]
fn a_reader_that_closes_its_end_is_no_failure() {
    let mut output = Output::to(Broken(ErrorKind::BrokenPipe));
    output.line("lost");
    assert!(output.is_closed());
    assert!(output.finish().is_ok());
}

#[test]
fn a_full_disk_is_a_failure() {
    let mut output = Output::to(Broken(ErrorKind::StorageFull));
    output.line("lost");
    let problem = output.finish().unwrap_err();
    insta::assert_snapshot!(
        problem.plain(),
        @"error: cannot write to standard output: no storage space"
    );
}
