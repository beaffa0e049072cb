//! Text to document.
