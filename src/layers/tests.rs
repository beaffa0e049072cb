use std::ffi::OsString;

use super::*;

/// The name of the built-in default.
const BUILT_IN: &str = "built-in default";

/// A home with nothing in it, as the only place that there is.
struct Bed {
    directory: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("home/work/deep")).unwrap();
        fs::create_dir_all(directory.path().join("home/.config/moat")).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        // Links in the temporary directory's own path would make comparisons fail.
        fs::canonicalize(self.directory.path()).unwrap().join(name)
    }

    fn places(&self, current: &str) -> Places {
        let nothing = |_: &str| None::<OsString>;
        Places::find(nothing, Some(self.path("home")), self.path(current)).unwrap()
    }

    fn write(&self, name: &str) {
        fs::write(self.path(name), "version: 1\n").unwrap();
    }
}

/// Layers without the machine's file, which a test cannot choose.
fn without_machine(layers: Layers, bed: &Bed) -> Layers {
    Layers {
        machine: bed.path("none"),
        ..layers
    }
}

fn names(layers: &Layers, bed: &Bed) -> Vec<(Origin, String)> {
    let root = bed.path("");
    let texts = layers.read().unwrap();
    texts
        .inputs
        .iter()
        .map(|text| {
            let name = text.source.name.replace(root.to_str().unwrap(), "");
            (text.origin, name)
        })
        .collect()
}

#[test]
fn the_built_in_default_stands_in_for_no_file() {
    let bed = Bed::new();
    let layers = without_machine(Layers::of_proxy(&bed.places("home"), &[]), &bed);
    assert_eq!(names(&layers, &bed), [(Origin::User, BUILT_IN.to_owned())]);
}

#[test]
fn a_proxy_reads_no_project_file() {
    let bed = Bed::new();
    bed.write("home/.config/moat/policy.yaml");
    fs::create_dir(bed.path("home/work/.git")).unwrap();
    bed.write("home/work/.moat.yaml");
    let layers = without_machine(Layers::of_proxy(&bed.places("home/work"), &[]), &bed);
    assert_eq!(
        names(&layers, &bed),
        [(Origin::User, "home/.config/moat/policy.yaml".to_owned())]
    );
}

#[test]
fn a_command_reads_the_file_at_the_git_root() {
    let bed = Bed::new();
    bed.write("home/.config/moat/policy.yaml");
    fs::write(bed.path("home/work/.git"), "gitdir: elsewhere").unwrap();
    bed.write("home/work/.moat.yaml");
    let layers = Layers::of_command(&bed.places("home/work/deep"), &[]).unwrap();
    assert_eq!(
        names(&without_machine(layers, &bed), &bed),
        [
            (Origin::User, "home/.config/moat/policy.yaml".to_owned()),
            (Origin::UntrustedProject, "home/work/.moat.yaml".to_owned())
        ]
    );
}

#[test]
fn a_project_file_does_not_take_the_built_in_default_away() {
    let bed = Bed::new();
    fs::create_dir(bed.path("home/work/.git")).unwrap();
    bed.write("home/work/.moat.yaml");
    let layers = Layers::of_command(&bed.places("home/work"), &[]).unwrap();
    assert_eq!(
        names(&without_machine(layers, &bed), &bed),
        [
            (Origin::User, BUILT_IN.to_owned()),
            (Origin::UntrustedProject, "home/work/.moat.yaml".to_owned())
        ]
    );
}

#[test]
fn the_home_directory_and_what_is_above_is_no_project() {
    let bed = Bed::new();
    fs::create_dir(bed.path("home/.git")).unwrap();
    fs::create_dir(bed.path(".git")).unwrap();
    bed.write("home/.moat.yaml");
    for current in ["home", "home/work/deep", ""] {
        assert_eq!(
            project_root(&bed.places(current)).unwrap(),
            None,
            "{current}"
        );
    }
}

#[test]
fn named_files_stand_in_place_of_user_and_project() {
    let bed = Bed::new();
    bed.write("home/.config/moat/policy.yaml");
    bed.write("home/work/.moat.yaml");
    fs::create_dir(bed.path("home/work/.git")).unwrap();
    bed.write("a.yaml");
    bed.write("b.yaml");
    let named = [bed.path("a.yaml"), bed.path("b.yaml")];
    let layers = Layers::of_command(&bed.places("home/work"), &named).unwrap();
    assert_eq!(
        names(&without_machine(layers, &bed), &bed),
        [
            (Origin::User, "a.yaml".to_owned()),
            (Origin::User, "b.yaml".to_owned())
        ]
    );
}

#[test]
fn the_machines_file_keeps_its_trust_where_it_is_named() {
    let bed = Bed::new();
    bed.write("machine.yaml");
    let named = [bed.path("machine.yaml")];
    let layers = Layers {
        machine: bed.path("machine.yaml"),
        ..Layers::of_proxy(&bed.places("home"), &named)
    };
    assert_eq!(
        names(&layers, &bed),
        [(Origin::Machine, "machine.yaml".to_owned())]
    );
}

#[test]
fn a_named_file_has_to_be_there() {
    let bed = Bed::new();
    let named = [PathBuf::from("/nowhere/policy.yaml")];
    let layers = Layers::of_proxy(&bed.places("home"), &named);
    let problem = without_machine(layers, &bed).read().unwrap_err();
    assert_eq!(problem.exit(), crate::exit::Exit::Usage);
    insta::assert_snapshot!(problem.plain(), @r"
    error: there is no policy file `/nowhere/policy.yaml`
    hint: check the path; it is read from the directory that the command runs in
    ");
}

#[test]
fn every_file_is_watched_whether_it_exists_or_not() {
    let bed = Bed::new();
    let layers = Layers::of_proxy(&bed.places("home"), &[]);
    assert_eq!(
        layers.files(),
        [
            PathBuf::from(MACHINE_POLICY),
            bed.path("home/.config/moat/policy.yaml")
        ]
    );
}
