//! The name of a preset on the command line.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use moat_policy::preset;

/// Takes any text, so that what is said of an unknown name can name the nearest one, and tells
/// the shells' completions which names there are.
#[derive(Clone, Debug)]
pub(crate) struct PresetName;

impl TypedValueParser for PresetName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        // Presets that cannot be read are told of where one is used.
        let names = preset::all_names().ok()?;
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}
