package operations

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAttacksHaveTests compares docs/security.md with the tests of the tree: each named test
// exists, and each test named after a CVE is listed.
func TestAttacksHaveTests(t *testing.T) {
	there, named := testsOfTree(t, "../../.."), map[string]bool{}
	rows, quoted := 0, regexp.MustCompile("`([^`]+)`")
	for _, table := range tablesOf(t, "../../../docs/security.md") {
		for _, cells := range table {
			rows++
			names := quoted.FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(cells) != 3 || len(names) == 0 {
				t.Errorf("the row %q names no test", cells[0])
			}
			for _, name := range names {
				named[name[1]] = true
				if !there[name[1]] {
					t.Errorf("%s: there is no test %s", cells[0], name[1])
				}
			}
		}
	}
	for name := range there {
		if strings.Contains(name, ".TestCVE") && !named[name] {
			t.Errorf("docs/security.md does not name %s", name)
		}
	}
	if rows < 40 {
		t.Errorf("%d rows were read", rows)
	}
}

// testsOfTree returns the tests below a directory as PACKAGE.NAME.
func testsOfTree(t *testing.T, root string) map[string]bool {
	t.Helper()
	all, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			all[filepath.ToSlash(dir)+"."+m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
