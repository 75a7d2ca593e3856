package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProofsExist fails when docs/proofs.md names a test that is not there.
func TestProofsExist(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "proofs.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := os.ReadFile(path)
		for _, match := range declared.FindAllStringSubmatch(string(file), -1) {
			have[match[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)").FindAllStringSubmatch(string(page), -1)
	if len(named) < 50 {
		t.Fatalf("the page names %d tests only: is it read right?", len(named))
	}
	for _, match := range named {
		if !have[match[1]] {
			t.Errorf("docs/proofs.md names %s, which does not exist", match[1])
		}
	}
}
