package accounts_test

import (
	"os"
	"os/user"
	"strconv"
	"testing"

	"github.com/brineproject/brine/internal/accounts"
)

// own returns the home directory in the password database for the user of this test.
func own(t *testing.T) string {
	t.Helper()
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		t.Skipf("this host does not know the user of the test: %v", err)
	}
	return u.HomeDir
}

func TestExpandReadsHome(t *testing.T) {
	for _, tt := range []struct{ home, path, want string }{
		{"/h", "~", "/h"},
		{"/h", "~/x", "/h/x"},
		{"/h/", "~/x", "/h/x"},
		{"/", "~", "/"},
		{"/h", "/a/~/x", "/a/~/x"},
		{"/h", "~/~/x", "/h/~/x"},
		{"/h", "~nobody-has-this-name/x", "~nobody-has-this-name/x"},
		{"/h", "", ""},
	} {
		t.Setenv("HOME", tt.home)
		if got := accounts.Expand(tt.path); got != tt.want {
			t.Errorf("HOME=%s: Expand(%q) = %q, want %q", tt.home, tt.path, got, tt.want)
		}
	}
}

// Units of systemd do not set HOME: ~ is then the directory in the password database.
func TestExpandWithoutHomeReadsThePasswordDatabase(t *testing.T) {
	home := own(t)
	for _, unset := range []bool{true, false} { // an empty HOME names no directory either
		t.Setenv("HOME", "")
		if unset {
			_ = os.Unsetenv("HOME")
		}
		if got := accounts.Expand("~/x"); got != home+"/x" {
			t.Errorf("without HOME (unset %v): Expand(~/x) = %q, want %q", unset, got, home+"/x")
		}
		if got := accounts.Expand("~"); got != home {
			t.Errorf("without HOME (unset %v): Expand(~) = %q, want %q", unset, got, home)
		}
	}
	if u, err := user.Lookup("root"); err == nil {
		if got := accounts.Expand("~root/x"); got != u.HomeDir+"/x" {
			t.Errorf("Expand(~root/x) = %q, want %q", got, u.HomeDir+"/x")
		}
	}
}
