package accounts_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brineproject/brine/internal/accounts"
)

func root(t *testing.T, passwd, group string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"passwd": passwd, "group": group} {
		if err := os.WriteFile(filepath.Join(dir, "etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	dir := root(t, "a:x:1:2:A:/a:/bin/a\n\n# b\nb:x:y:2:::\nc:x:3\n+::::::\nd:x:4:z:::\ne:x:5:6:::\n", "g:x:2:a,e\nh:x:6:\n-x:x:7:\nbad:x:q:\n")
	users, err := accounts.Users(dir)
	want := []accounts.User{{"a", "x", 1, 2, "A", "/a", "/bin/a"}, {"e", "x", 5, 6, "", "", ""}}
	if err != nil || !slices.Equal(users, want) {
		t.Errorf("users are %v, %v, want %v", users, err, want)
	}
	groups, err := accounts.Groups(dir)
	if err != nil || len(groups) != 2 || groups[0].GID != 2 ||
		!slices.Equal(groups[0].Members, []string{"a", "e"}) || len(groups[1].Members) != 0 {
		t.Errorf("groups are %v, %v", groups, err)
	}
	for name, want := range map[string][]string{"a": {"g"}, "e": {"g", "h"}, "nobody": nil} {
		if got := accounts.GroupsOf(name, users, groups); !slices.Equal(got, want) {
			t.Errorf("%s is in %v, want %v", name, got, want)
		}
	}
	if _, err := accounts.Users(t.TempDir()); err == nil {
		t.Error("no file is no error")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a:x:1:2:A:/a:/bin/a\n+::::::\n", "g:x:2:a,e\n")
	f.Fuzz(func(t *testing.T, passwd, group string) {
		dir := root(t, passwd, group)
		_, _ = accounts.Users(dir)
		_, _ = accounts.Groups(dir)
	})
}
