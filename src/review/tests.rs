use insta::assert_snapshot;

use super::*;

#[test]
fn a_difference_names_the_file_and_shows_what_is_around() {
    let before = "version: 1\r\nallow:\r\n  - id: a\r\n    net:\r\n      - a.test\r\n";
    let after = format!("{before}      - b.test\r\n");
    assert_snapshot!(difference(Path::new("/p\u{1b}.yaml"), before, &after), @r"
    --- /p\u001b.yaml
    +++ /p\u001b.yaml
    @@ -3,3 +3,4 @@
       - id: a
         net:
           - a.test
    +      - b.test
    ");
}

#[test]
fn only_yes_is_yes() {
    for yes in ["y\n", "YES\n", " yes \n"] {
        assert_eq!(read(yes), Answer::Yes);
    }
    for no in ["", "\n", "n\n", "yep\n", "no\n"] {
        assert_eq!(read(no), Answer::No);
    }
}

#[test]
fn without_asking_yes_is_taken_at_its_word() {
    assert_eq!(consent(Yes::Given, Path::new("p")).unwrap(), Answer::Yes);
}
