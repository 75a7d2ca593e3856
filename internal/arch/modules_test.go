package arch

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goMod is what these tests want to know of a go.mod file.
type goMod struct {
	Module  struct{ Path string }
	Require []struct{ Path string }
	Replace []struct{ Old, New struct{ Path string } }
}

// goCommand runs the go command and decodes the JSON that it prints.
func goCommand(t *testing.T, into any, arguments ...string) {
	t.Helper()
	printed, err := exec.Command("go", arguments...).Output()
	if err == nil {
		err = json.Unmarshal(printed, into)
	}
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(arguments, " "), err)
	}
}

// modules returns every go.mod of the project by its folder.
func modules(t *testing.T) map[string]goMod {
	t.Helper()
	found := map[string]goMod{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(entry.Name())
		}
		if entry.Name() == "go.mod" {
			var mod goMod
			goCommand(t, &mod, "mod", "edit", "-json", file)
			found[folderOf(fromRoot(file))] = mod
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// moduleOf is the folder of the module that a folder belongs to.
func moduleOf(folder string, modules map[string]goMod) string {
	for folder != "" {
		if _, ok := modules[folder]; ok {
			return folder
		}
		folder = strings.TrimPrefix(path.Dir(folder), ".")
	}
	return ""
}

// TestRootRequiresNothing keeps the graph of a user's modules at two: his and ours.
func TestRootRequiresNothing(t *testing.T) {
	for _, requirement := range modules(t)[""].Require {
		t.Errorf("go.mod requires %s: what needs it belongs in a folder with its own go.mod", requirement.Path)
	}
}

// TestModulesAreWhereThirdPartiesAre fails on a third party in the root module and on a module that has none.
func TestModulesAreWhereThirdPartiesAre(t *testing.T) {
	all, need := modules(t), map[string]bool{"": true}
	for _, s := range sources(t) {
		home := moduleOf(s.folder, all)
		third := s.thirdParties()
		if home == "" && len(third) > 0 {
			t.Errorf("%s imports %s, but its folder has no go.mod of its own", s.path, third[0])
		}
		if len(third) > 0 && !s.test {
			need[home] = true
		}
	}
	for folder := range all {
		switch says := places[folder].testModule; {
		case says && need[folder]:
			t.Errorf("places calls %s a test module, but its code imports a third party", folder)
		case !says && !need[folder]:
			t.Errorf("%s has a go.mod, but its code imports no third party, and places does not call it a test module", folder)
		}
	}
}

// TestModulesAreInTheWorkspace fails on a module that "go test work" would miss.
func TestModulesAreInTheWorkspace(t *testing.T) {
	var work struct{ Use []struct{ DiskPath string } }
	goCommand(t, &work, "work", "edit", "-json", filepath.Join(root, "go.work"))
	var used []string
	for _, use := range work.Use {
		used = append(used, strings.TrimPrefix(path.Clean(use.DiskPath), "."))
	}
	for folder := range modules(t) {
		if !slices.Contains(used, folder) {
			t.Errorf("go.work lacks a use line for ./%s", folder)
		}
	}
}

// TestSubmodulesUseTheirNeighbours fails on a module of another name than its folder's, and on one that takes a neighbour from
// anywhere but the folder beside it. These replace lines go with the first tag.
func TestSubmodulesUseTheirNeighbours(t *testing.T) {
	for folder, mod := range modules(t) {
		if want := path.Join(module, folder); mod.Module.Path != want {
			t.Errorf("%s/go.mod: module %s, want %s", folder, mod.Module.Path, want)
		}
		for _, requirement := range mod.Require {
			neighbour, ours := projectFolder(requirement.Path)
			if ours && replacement(mod, requirement.Path, folder) != path.Clean(neighbour) {
				t.Errorf("%s/go.mod lacks: replace %s => the folder %q", folder, requirement.Path, path.Clean(neighbour))
			}
		}
		if folder != "" && replacement(mod, module, folder) != "." {
			t.Errorf("%s/go.mod lacks: replace %s => the project's folder", folder, module)
		}
	}
}

// replacement is the project's folder that a module's replace line for another names, "." for the root.
func replacement(mod goMod, of, folder string) string {
	for _, replace := range mod.Replace {
		if replace.Old.Path == of {
			return path.Join(folder, replace.New.Path)
		}
	}
	return "no replace line"
}
