use std::io;
use std::sync::{Arc, Mutex};

use super::*;

/// A sink whose text a test can read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

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
    let shared = Shared::default();
    let mut output = Output::to(shared.clone());
    output.line("a\u{1b}[2Kb\nc\u{9b}d\u{202e}e ü");
    output.finish().unwrap();
    let text = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text, "a\\u001b[2Kb\\u000ac\\u009bd\\u202ee ü\n");
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
