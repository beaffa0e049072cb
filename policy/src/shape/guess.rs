//! Which known word somebody meant.

/// The known word that is nearest to a text, if any is near enough to be worth a question.
pub(crate) fn nearest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let limit = match text.chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        6..=40 => 2,
        _ => return None,
    };
    words
        .into_iter()
        .map(|word| (distance(text, word), word))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// How many letters have to be added, removed, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (
        a.to_lowercase().chars().collect(),
        b.to_lowercase().chars().collect(),
    );
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i.saturating_add(1)];
        for (j, &y) in b.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX);
            let mut best = at(&last, j)
                .saturating_add(usize::from(x != y))
                .min(at(&last, j.saturating_add(1)).saturating_add(1))
                .min(at(&row, j).saturating_add(1));
            let swapped = i > 0
                && j > 0
                && a.get(i.saturating_sub(1)) == Some(&y)
                && b.get(j.saturating_sub(1)) == Some(&x);
            if swapped {
                best = best.min(at(&before, j.saturating_sub(1)).saturating_add(1));
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(usize::MAX)
}
