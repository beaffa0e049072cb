use super::*;

fn place(span: Span) -> (u32, u32) {
    (span.line, span.column)
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    assert_eq!(&*SourceFile::new("p", "\u{feff}a").text, "a");
}

#[test]
fn lines_and_columns_count_characters_from_one() {
    let source = SourceFile::new("p", "aü\r\nüb\n");
    assert_eq!(place(source.span(0, 1)), (1, 1));
    assert_eq!(place(source.span(3, 4)), (1, 3));
    assert_eq!(place(source.span(7, 8)), (2, 2));
    assert_eq!(source.slice(source.span(7, 8)), "b");
}

#[test]
fn a_range_that_does_not_fit_is_cut_to_the_text() {
    let source = SourceFile::new("p", "aü");
    let cut = source.span(2, 99);
    assert_eq!((cut.start, cut.end), (1, 3));
    assert_eq!(source.slice(source.span(99, 1)), "");
}

#[test]
fn a_line_is_given_without_its_end() {
    let source = SourceFile::new("p", "one\r\ntwo\n");
    assert_eq!(source.slice(source.line(1)), "one");
    assert_eq!(source.slice(source.line(2)), "two");
    assert_eq!(source.line(9).start, 9);
}

#[test]
fn a_part_of_a_span_agrees_with_counting() {
    let source = SourceFile::new("p", "x: \"aüb\"\n");
    let whole = source.span(3, 9);
    let text = source.slice(whole);
    assert_eq!(whole.part(text, &(4..5)), source.span(7, 8));
    assert_eq!(whole.part(text, &(4..99)), whole);
    assert_eq!(whole.first(&source), source.span(3, 4));
}
