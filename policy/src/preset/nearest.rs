//! The known word that a mistyped one most resembles.

/// The candidate with the fewest edits, if there are few enough for a slip of the finger: a
/// third of the letters, and never more than three.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(64).collect();
    let limit = (word.len() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Letters to insert, remove, replace or swap with their neighbour to get from one word to the
/// other (optimal string alignment).
fn distance(word: &[char], other: &str) -> usize {
    let mut above: Vec<usize> = (0..=word.len()).collect();
    let mut two_above: Vec<usize> = Vec::new();
    let mut last = None;
    for (line, letter) in other.chars().enumerate() {
        let mut row = vec![line + 1];
        for (column, known) in word.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let mut best = at(&above, column)
                .saturating_add(usize::from(*known != letter))
                .min(at(&above, column + 1).saturating_add(1))
                .min(at(&row, column).saturating_add(1));
            let before = column.checked_sub(1);
            let swapped = last == Some(*known) && before.and_then(|b| word.get(b)) == Some(&letter);
            if let (true, Some(before)) = (swapped, before) {
                best = best.min(at(&two_above, before).saturating_add(1));
            }
            row.push(best);
        }
        two_above = std::mem::replace(&mut above, row);
        last = Some(letter);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_the_word_and_nonsense_finds_none() {
        assert_eq!(nearest("nmp", ["nix", "npm", "nuget"]), Some("npm"));
        assert_eq!(nearest("nugit", ["npm", "nix", "nuget"]), Some("nuget"));
        assert_eq!(nearest("zzzzzzz", ["npm", "nix", "nuget"]), None);
    }
}
